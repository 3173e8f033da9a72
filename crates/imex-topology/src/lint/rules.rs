//! Every rule: its id, how bad a breach is, what it says and what to do. `docs/topology-lint.md` is this table.
//!
//! Ids below 100 are what slurmctld refuses: it ends, or on `scontrol reconfigure` keeps the old topology. Ids from 100
//! are what it loads although something is wrong. Ids from 200 are about what stands around the file: Slurm's version,
//! `slurm.conf`, the queues of AWS PCS. Tried on Slurm 26.05.5.

use imex_config::rules;

rules! {
    EMPTY = "T001" "empty" Error: "The file is empty or has comments only.",
        "write at least one topology, or remove the file";
    SYNTAX = "T002" "syntax" Error: "The text cannot be parsed.",
        "correct the line; tabs, unclosed brackets and wrong indentation are the usual causes";
    ALIAS = "T003" "alias" Error: "The file uses a YAML alias, which Slurm's reader refuses.",
        "write the value out";
    FORM = "T004" "form" Error: "A value has another form than Slurm expects (text, list, map).",
        "give the value the form that is named";
    NO_KIND = "T005" "no-kind" Error: "A topology is neither block nor tree nor flat; an empty map or `flat: false` does not count.",
        "add `block:`, `tree:` or `flat: true`";
    SEVERAL_KINDS = "T006" "several-kinds" Error: "A topology is of several kinds at once.",
        "keep one kind; write another topology for the other";
    SIZE_NOT_A_NUMBER = "T007" "size-not-a-number" Error: "A block size is not a whole number that Slurm can read.",
        "write whole numbers, as a list: `block_sizes: [18, 36]`";
    SIZE_STEP = "T008" "size-step" Error: "A block size is 0, negative, above 65535, or not the first size times a power of two.",
        "give the base first, then base times 2, 4, 8 …";
    DUPLICATE_BLOCK = "T009" "duplicate-block" Error: "Two blocks of a topology have the same name.",
        "rename one, or join their nodes";
    NAMELESS_BLOCK = "T010" "nameless-block" Error: "A block has no name.",
        "add `block: NAME`; keys are written in lower case";
    BAD_HOSTLIST = "T011" "bad-hostlist" Error: "A list of nodes cannot be parsed.",
        "write it like `n[1-18,20]`";
    NO_BLOCKS = "T012" "no-blocks" Error: "A topology of kind block has no blocks, or one of kind tree no switches.",
        "add the blocks, or make it `flat: true`";
    REPEATED_LIST = "T013" "repeated-list" Error: "A key with a list stands twice in the last topology, which Slurm reads as a list in a list.",
        "keep one of the two";
    DUPLICATE_SWITCH = "T014" "duplicate-switch" Error: "Two switches of a topology have the same name.",
        "rename one, or join their nodes";
    NAMELESS_SWITCH = "T015" "nameless-switch" Error: "A switch has no name.",
        "add `switch: NAME`";
    UNKNOWN_CHILD = "T016" "unknown-child" Error: "A switch has itself, or something that is no switch, as a child.",
        "define the child as a switch, or take it out of `children`";
    NOT_A_TREE = "T017" "not-a-tree" Error: "Switches are children of one another in a circle.",
        "break the circle";
    CONF_KEY = "T018" "conf-key" Error: "A line of topology.conf has a key that its plugin does not know.",
        "remove it; topology/block knows BlockName, Nodes and BlockSizes";
    NO_NODES = "T019" "no-nodes" Error: "No block has a node that Slurm knows, and no block sizes are given.",
        "add the nodes; names must be those of slurm.conf";
    NAME_AS_LIST = "T020" "name-as-list" Error: "A block's name cannot be read as a list of hosts although Slurm joins blocks into larger ones and names them so.",
        "use letters, digits, `-`, `_` and `.`";

    UNKNOWN_KEY = "T101" "unknown-key" Warning: "A key is unknown; Slurm ignores it with all that is under it.",
        "correct the spelling, or remove it";
    TWO_BLOCKS = "T102" "node-in-two-blocks" Warning: "A node is in two blocks of one topology; Slurm counts it in both.",
        "leave it where its NVLink fabric is";
    REPEATED_NODE = "T103" "repeated-node" Warning: "A node is named twice in one block.",
        "name it once";
    SMALL_BLOCK = "T104" "small-block" Warning: "A block has fewer nodes than the base size; jobs of base size never fit it.",
        "add the missing nodes, or make the base the size of the smallest block";
    LARGE_BASE = "T105" "large-base" Warning: "The base size is larger than every block: jobs larger than a block and up to the base are refused.",
        "make the base the size of a block";
    EMPTY_BLOCK = "T106" "empty-block" Warning: "A block has no nodes.",
        "add its nodes, or remove it";
    TWO_DEFAULTS = "T107" "two-defaults" Warning: "Two topologies say cluster_default; Slurm takes the first.",
        "keep one";
    NO_DEFAULT = "T108" "no-default" Warning: "Of several topologies none says cluster_default; Slurm takes the first.",
        "say `cluster_default: true` in the one that is meant";
    DUPLICATE_TOPOLOGY = "T109" "duplicate-topology" Warning: "Two topologies have the same name; partitions reach the first only.",
        "rename one";
    NAMELESS_TOPOLOGY = "T110" "nameless-topology" Warning: "A topology has no name: no partition and no node update can refer to it.",
        "add `topology: NAME`";
    AWKWARD_NAME = "T111" "awkward-name" Warning: "A name has characters that mean something where names are used (comma, colon, blank, brackets, braces).",
        "use letters, digits, `-`, `_` and `.`";
    NO_SIZES = "T112" "no-sizes" Warning: "No block sizes are given; Slurm takes the size of the first block and every step.",
        "write the sizes that are meant";
    IDLE_SIZE = "T113" "idle-size" Warning: "A block size needs more blocks than there are; it does nothing.",
        "remove it, or leave it if the blocks are to come";
    REPEATED_SIZE = "T114" "repeated-size" Warning: "A block size stands twice.",
        "keep one";
    REPEATED_KEY = "T115" "repeated-key" Warning: "A key stands twice in one map; Slurm takes the last.",
        "keep one";
    ODD_BOOLEAN = "T116" "odd-boolean" Warning: "A truth value is neither true nor false; Slurm takes almost every word for true.",
        "write true or false";
    NOT_LEAF = "T117" "not-a-leaf" Warning: "A switch has nodes and children; Slurm ignores the children.",
        "move the nodes to a switch of their own";
    TWO_LEAVES = "T118" "node-on-two-switches" Warning: "A node is attached to two switches.",
        "attach it to one";
    SEVERAL_ROOTS = "T119" "several-roots" Warning: "No switch reaches all nodes.",
        "add a switch above, unless jobs must not span the parts";
    SHARED_CLIQUE = "T120" "clique-alone" Warning: "A block is named by a clique id alone; the same id means another fabric in another cluster.",
        "name it by cluster UUID and clique";
    MORE_DOCUMENTS = "T121" "more-documents" Warning: "The file has several YAML documents; Slurm reads the first only.",
        "put all topologies into one list";
    NUMBER_WITH_TAIL = "T122" "number-with-tail" Warning: "A block size of topology.conf has more than digits; Slurm reads the digits and drops the rest.",
        "write the number alone";
    LOST_TOPOLOGY = "T123" "lost-topology" Warning: "A key with a list stands twice in a topology that is not the last; Slurm loses that topology without a word.",
        "keep one of the two";

    OLD_VERSION = "T201" "version-without-yaml" Warning: "This Slurm ignores topology.yaml: it reads topology.conf.",
        "generate topology.conf, or use Slurm 25.05 or later";
    NO_BLOCK_PLUGIN = "T202" "version-without-block" Warning: "This Slurm has no topology/block.",
        "use Slurm 23.11 or later";
    UNKNOWN_NODE = "T203" "unknown-node" Warning: "A node is not in slurm.conf; Slurm leaves it out.",
        "add it to slurm.conf, or take it out here";
    MISSING_NODE = "T204" "missing-node" Warning: "A node of slurm.conf is in no block; only jobs that ask for it alone get it.",
        "add it to its block, or give it a topology of its own";
    UNKNOWN_TOPOLOGY = "T205" "unknown-topology" Warning: "A partition names a topology that the file does not have.",
        "add the topology, or correct the partition";
    NOT_EXCLUSIVE = "T206" "not-exclusive" Warning: "Jobs of a partition over NVLink blocks may share nodes: one IMEX domain serves one job.",
        "set OverSubscribe=EXCLUSIVE for the partition";
    GROUP_RATIO = "T207" "group-ratio" Error: "A queue has UltraServer groups whose instance counts are not in power-of-two ratios (9 and 18 are, 12 and 18 are not).",
        "change the counts, or give each group a queue of its own";
    MIXED_QUEUE = "T208" "mixed-queue" Error: "A queue has UltraServer groups and other groups.",
        "give the UltraServer groups a queue of their own";
    SHARED_CAPACITY = "T209" "shared-capacity-block" Error: "A group does not have exactly one UltraServer capacity block.",
        "make one group for each capacity block";
}

#[cfg(test)]
mod tests {
    use imex_config::{Rule, Severity};

    use super::*;

    #[test]
    fn ids_rise_and_tell_errors_of_slurmctld_from_the_rest() {
        assert!(ALL.is_sorted_by(|a, b| a.id < b.id));
        for rule in ALL.iter().filter(|rule| rule.id < "T200") {
            assert_eq!(rule.id < "T100", rule.severity == Severity::Error, "{}", rule.id);
        }
    }

    #[test]
    fn the_document_is_the_table() {
        let document = include_str!("../../../../docs/topology-lint.md");
        let rows = ALL.iter().map(|rule| {
            let Rule { id, name, severity, meaning, fix } = rule;
            format!("| {id} | {name} | {} | {meaning} | {fix} |\n", severity.word())
        });
        let table: String = rows.collect();
        assert!(document.contains(&table), "docs/topology-lint.md lacks rules; its table must be:\n{table}");
    }
}
