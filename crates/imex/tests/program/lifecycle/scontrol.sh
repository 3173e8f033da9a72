#!/bin/sh
# A FAKE scontrol for tests. It is not Slurm: it copies SITE/topology.yaml to SITE/loaded when told to reconfigure, prints
# that as `show topology` would, and misbehaves as SITE/mode says. What it misbehaves over is a file with the word `poison`.
site=$(dirname "$(dirname "$0")")
echo "$*" >>"$site/calls"
mode=$(cat "$site/mode" 2>/dev/null)
poisoned() { grep -q poison "$1" 2>/dev/null; }
silent() { echo "fake scontrol: Unable to contact slurm controller (connect failure)" >&2; exit 1; }
[ -e "$site/dead" ] && silent

blocks() {
    awk -v wanted="$1" '
        $1 == "-" && $2 == "topology:" { name = $3; index_ = 0 }
        $1 == "block_sizes:" { gsub(/[^0-9 ]/, ""); base = $1 }
        $1 == "-" && $2 == "block:" { block = $3 }
        $1 == "nodes:" && (wanted == "" || wanted == name) {
            printf "BlockName=%s BlockIndex=%d Nodes=%s BlockSize=%s\n", block, index_++, $2, base
        }' "$site/loaded"
}

case "$mode $1" in
"hang "*) sleep 600 ;;
"hang-reconfigure reconfigure") sleep 600 ;;
"refuse reconfigure")
    poisoned "$site/topology.yaml" && { echo "slurm_reconfigure error:Unspecified error" >&2; exit 1; } ;;
"ignore reconfigure") poisoned "$site/topology.yaml" && exit 0 ;;
"die reconfigure") poisoned "$site/topology.yaml" && { touch "$site/dead"; exit 0; } ;;
"unknown show") poisoned "$site/loaded" && [ -n "$3" ] && { echo "fake scontrol: no topology $3" >&2; exit 0; } ;;
"half show") poisoned "$site/loaded" && { blocks "$3" | head -c 30; exit 0; } ;;
esac

case "$1 $2" in
"reconfigure ") cp "$site/topology.yaml" "$site/loaded" ;;
"show topology") blocks "$3" ;;
"show nodes") cat "$site/nodes.json" ;;
*) echo "fake scontrol: does not know $*" >&2; exit 1 ;;
esac
