# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_imex_global_optspecs
    string join \n h/help V/version
end

function __fish_imex_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_imex_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_imex_using_subcommand
    set -l cmd (__fish_imex_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c imex -n "__fish_imex_needs_command" -s h -l help -d 'Print help'
complete -c imex -n "__fish_imex_needs_command" -s V -l version -d 'Print version'
complete -c imex -n "__fish_imex_needs_command" -f -a "wait" -d 'Wait until the domain is UP, and tell who is missing if it does not come'
complete -c imex -n "__fish_imex_needs_command" -f -a "lab" -d 'Run a rack of real daemons on this machine, without a GPU'
complete -c imex -n "__fish_imex_needs_command" -f -a "follow" -d 'Keep this node\'s map in line with the topology, where domains are not made for each job'
complete -c imex -n "__fish_imex_needs_command" -f -a "channel" -d 'Make, remove and check the channel devices, without which no program can share GPU memory between machines'
complete -c imex -n "__fish_imex_needs_command" -f -a "topology" -d 'Find which nodes share an NVLink fabric, and keep Slurm\'s topology true to it'
complete -c imex -n "__fish_imex_needs_command" -f -a "pki" -d 'Make an authority and certificates for the nodes, where security is to be switched on'
complete -c imex -n "__fish_imex_needs_command" -f -a "slurm" -d 'Make domains for Slurm\'s jobs, and see that Slurm is set up for it'
complete -c imex -n "__fish_imex_needs_command" -f -a "doctor" -d 'Examine this node by numbered checks: what is wrong, by what evidence, and what to do'
complete -c imex -n "__fish_imex_needs_command" -f -a "validate" -d 'Verify the domain of the job that this runs in, by what every member says of itself'
complete -c imex -n "__fish_imex_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c imex -n "__fish_imex_using_subcommand wait" -s c -l config -d 'Configuration file of the local daemon' -r -F
complete -c imex -n "__fish_imex_using_subcommand wait" -l timeout -d 'How long to wait, for instance 500ms, 60s, 2m; without a unit it is seconds' -r -f
complete -c imex -n "__fish_imex_using_subcommand wait" -l members -d 'Demand that the domain has this many nodes, 1 to 65535' -r -f
complete -c imex -n "__fish_imex_using_subcommand wait" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand wait" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -l dir -d 'Directory for the nodes\' files; temporary if not given' -r -F
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -l nodes -d 'How many nodes, up to 1000' -r -f
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -l port -d 'TCP port of every node' -r -f
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -l imexd -d 'Another daemon to run instead of the one in this program' -r -F
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -l timeout -d 'How long the domain may take to be UP, for instance 500ms, 60s, 2m' -r -f
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -l set -d 'Set a key of every node\'s config.cfg; may be repeated' -r -f
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -l keep -d 'Keep the temporary directory when the lab ends'
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -l once -d 'End after the table; succeed only if the domain is UP'
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -f -a "up" -d 'Start a lab in the background and wait until its domain is UP'
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -f -a "own" -d 'Own a lab: what `up` starts in the background'
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -f -a "status" -d 'Tell how the nodes and the domain fare'
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -f -a "kill" -d 'Send a signal to a node'
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -f -a "start" -d 'Start a node that has ended'
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -f -a "down" -d 'End all nodes and the lab; its files stay'
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from up" -l dir -d 'The lab\'s directory' -r -F
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from up" -l nodes -d 'How many nodes, up to 1000' -r -f
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from up" -l port -d 'TCP port of every node' -r -f
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from up" -l imexd -d 'Another daemon to run instead of the one in this program' -r -F
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from up" -l timeout -d 'How long the domain may take to be UP, for instance 500ms, 60s, 2m' -r -f
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from up" -l set -d 'Set a key of every node\'s config.cfg; may be repeated' -r -f
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from up" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from up" -s h -l help -d 'Print help'
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from own" -l dir -d 'The lab\'s directory' -r -F
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from own" -l nodes -d 'How many nodes, up to 1000' -r -f
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from own" -l port -d 'TCP port of every node' -r -f
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from own" -l imexd -d 'Another daemon to run instead of the one in this program' -r -F
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from own" -l timeout -d 'How long the domain may take to be UP, for instance 500ms, 60s, 2m' -r -f
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from own" -l set -d 'Set a key of every node\'s config.cfg; may be repeated' -r -f
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from own" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from own" -s h -l help -d 'Print help'
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from status" -l dir -d 'The lab\'s directory' -r -F
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from status" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from kill" -l signal -d 'TERM: leave gracefully; KILL: end at once; STOP: fall silent; CONT: go on after STOP' -r -f -a "TERM\t''
KILL\t''
STOP\t''
CONT\t''"
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from kill" -l dir -d 'The lab\'s directory' -r -F
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from kill" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from kill" -s h -l help -d 'Print help'
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from start" -l dir -d 'The lab\'s directory' -r -F
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from start" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from start" -s h -l help -d 'Print help'
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from down" -l dir -d 'The lab\'s directory' -r -F
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from down" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from down" -s h -l help -d 'Print help'
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "up" -d 'Start a lab in the background and wait until its domain is UP'
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "own" -d 'Own a lab: what `up` starts in the background'
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "status" -d 'Tell how the nodes and the domain fare'
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "kill" -d 'Send a signal to a node'
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "start" -d 'Start a node that has ended'
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "down" -d 'End all nodes and the lab; its files stay'
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c imex -n "__fish_imex_using_subcommand follow" -l source -d 'Where nodes are, the most trusted source first; may be repeated' -r -f
complete -c imex -n "__fish_imex_using_subcommand follow" -l ec2-name -d 'By which of its names Slurm knows an EC2 instance: dns, id or tag:KEY' -r -f
complete -c imex -n "__fish_imex_using_subcommand follow" -l feature -d 'The feature or comment that names a node\'s block, with a star for the name' -r -f
complete -c imex -n "__fish_imex_using_subcommand follow" -l region -d 'The region; if not given that of AWS_REGION, the profile or this instance' -r -f
complete -c imex -n "__fish_imex_using_subcommand follow" -l profile -d 'The profile of ~/.aws with credentials, region and endpoint; if not given that of AWS_PROFILE' -r -f
complete -c imex -n "__fish_imex_using_subcommand follow" -l endpoint-url -d 'Another address for EC2 and PCS; if not given that of AWS_ENDPOINT_URL or the profile' -r -f
complete -c imex -n "__fish_imex_using_subcommand follow" -l scope -d 'Whose domain it is' -r -f -a "domain\t'All nodes of the NVLink domain'
partition\t'The nodes of the NVLink partition'"
complete -c imex -n "__fish_imex_using_subcommand follow" -l node -d 'This node, by the name that the sources know it by' -r -f
complete -c imex -n "__fish_imex_using_subcommand follow" -l addresses -d 'Write the addresses that scontrol show nodes --json tells instead of names' -r -F
complete -c imex -n "__fish_imex_using_subcommand follow" -s c -l config -d 'Configuration file of the local daemon' -r -F
complete -c imex -n "__fish_imex_using_subcommand follow" -l map -d 'The node map to keep; it must be the one that the configuration names, and need not be said' -r -F
complete -c imex -n "__fish_imex_using_subcommand follow" -l leases -d 'Where jobs leave their leases' -r -F
complete -c imex -n "__fish_imex_using_subcommand follow" -l service -d 'The service to restart: systemd:UNIT, or lab:DIR/node-K for a node of `imex lab up`' -r -f
complete -c imex -n "__fish_imex_using_subcommand follow" -l listen -d 'Address on which the other members ask how far this one is' -r -f
complete -c imex -n "__fish_imex_using_subcommand follow" -l port -d 'TCP port for that, the same on all members' -r -f
complete -c imex -n "__fish_imex_using_subcommand follow" -l interval -d 'The time between looks at the topology, for instance 30s, 1m' -r -f
complete -c imex -n "__fish_imex_using_subcommand follow" -l up -d 'How long the new domain may take to be UP; jobs wait for as long' -r -f
complete -c imex -n "__fish_imex_using_subcommand follow" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand channel; and not __fish_seen_subcommand_from list create remove check help" -s h -l help -d 'Print help'
complete -c imex -n "__fish_imex_using_subcommand channel; and not __fish_seen_subcommand_from list create remove check help" -f -a "list" -d 'Show the channels of this node, and what is wrong with them'
complete -c imex -n "__fish_imex_using_subcommand channel; and not __fish_seen_subcommand_from list create remove check help" -f -a "create" -d 'Make channels what they should be'
complete -c imex -n "__fish_imex_using_subcommand channel; and not __fish_seen_subcommand_from list create remove check help" -f -a "remove" -d 'Remove channels'
complete -c imex -n "__fish_imex_using_subcommand channel; and not __fish_seen_subcommand_from list create remove check help" -f -a "check" -d 'Tell if channels are what they should be, and if a user could open them'
complete -c imex -n "__fish_imex_using_subcommand channel; and not __fish_seen_subcommand_from list create remove check help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from list" -s c -l config -d 'What channels should be like: openimex.toml' -r -F
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from list" -l dir -d 'The folder of channels; that of the configuration if not given' -r -F
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from list" -l devices -d 'Where the kernel lists its drivers' -r -F
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from list" -l params -d 'Where NVIDIA\'s driver lists its parameters' -r -F
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from list" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from create" -l owner -d 'Give them to this user, by name or number; to root if not given' -r -f
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from create" -s c -l config -d 'What channels should be like: openimex.toml' -r -F
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from create" -l dir -d 'The folder of channels; that of the configuration if not given' -r -F
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from create" -l devices -d 'Where the kernel lists its drivers' -r -F
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from create" -l params -d 'Where NVIDIA\'s driver lists its parameters' -r -F
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from create" -l boot -d 'Those that the configuration has for the boot; none if Slurm\'s switch/nvidia_imex makes them'
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from create" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from create" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from remove" -s c -l config -d 'What channels should be like: openimex.toml' -r -F
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from remove" -l dir -d 'The folder of channels; that of the configuration if not given' -r -F
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from remove" -l devices -d 'Where the kernel lists its drivers' -r -F
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from remove" -l params -d 'Where NVIDIA\'s driver lists its parameters' -r -F
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from remove" -l all -d 'All that are there'
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from remove" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from check" -l as -d 'A user who should be able to open them, by name or number' -r -f
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from check" -l owner -d 'Expect them to be this user\'s, by name or number; root\'s if not given' -r -f
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from check" -s c -l config -d 'What channels should be like: openimex.toml' -r -F
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from check" -l dir -d 'The folder of channels; that of the configuration if not given' -r -F
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from check" -l devices -d 'Where the kernel lists its drivers' -r -F
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from check" -l params -d 'Where NVIDIA\'s driver lists its parameters' -r -F
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from check" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from help" -f -a "list" -d 'Show the channels of this node, and what is wrong with them'
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from help" -f -a "create" -d 'Make channels what they should be'
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Remove channels'
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from help" -f -a "check" -d 'Tell if channels are what they should be, and if a user could open them'
complete -c imex -n "__fish_imex_using_subcommand channel; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c imex -n "__fish_imex_using_subcommand topology; and not __fish_seen_subcommand_from generate lint diff identify collect apply verify watch node-map plan help" -s h -l help -d 'Print help'
complete -c imex -n "__fish_imex_using_subcommand topology; and not __fish_seen_subcommand_from generate lint diff identify collect apply verify watch node-map plan help" -f -a "generate" -d 'Write Slurm\'s topology for what the sources say'
complete -c imex -n "__fish_imex_using_subcommand topology; and not __fish_seen_subcommand_from generate lint diff identify collect apply verify watch node-map plan help" -f -a "lint" -d 'Judge a topology file as slurmctld would, and beyond'
complete -c imex -n "__fish_imex_using_subcommand topology; and not __fish_seen_subcommand_from generate lint diff identify collect apply verify watch node-map plan help" -f -a "diff" -d 'Tell what changes between two topology files, by node and block'
complete -c imex -n "__fish_imex_using_subcommand topology; and not __fish_seen_subcommand_from generate lint diff identify collect apply verify watch node-map plan help" -f -a "identify" -d 'Print this node\'s fabric identity as one line of JSON'
complete -c imex -n "__fish_imex_using_subcommand topology; and not __fish_seen_subcommand_from generate lint diff identify collect apply verify watch node-map plan help" -f -a "collect" -d 'Gather identities of many nodes, one line each'
complete -c imex -n "__fish_imex_using_subcommand topology; and not __fish_seen_subcommand_from generate lint diff identify collect apply verify watch node-map plan help" -f -a "apply" -d 'Put a topology into use: write the file, have the controller load it, and see that it does'
complete -c imex -n "__fish_imex_using_subcommand topology; and not __fish_seen_subcommand_from generate lint diff identify collect apply verify watch node-map plan help" -f -a "verify" -d 'Compare what the controller holds with the file, and the file with the sources'
complete -c imex -n "__fish_imex_using_subcommand topology; and not __fish_seen_subcommand_from generate lint diff identify collect apply verify watch node-map plan help" -f -a "watch" -d 'Keep the topology in use true to the sources'
complete -c imex -n "__fish_imex_using_subcommand topology; and not __fish_seen_subcommand_from generate lint diff identify collect apply verify watch node-map plan help" -f -a "node-map" -d 'Print the node map of a node whose domain is not made for each job'
complete -c imex -n "__fish_imex_using_subcommand topology; and not __fish_seen_subcommand_from generate lint diff identify collect apply verify watch node-map plan help" -f -a "plan" -d 'Tell where a job would land, or why it would not start'
complete -c imex -n "__fish_imex_using_subcommand topology; and not __fish_seen_subcommand_from generate lint diff identify collect apply verify watch node-map plan help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from generate" -l source -d 'Where nodes are, the most trusted source first; may be repeated' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from generate" -l ec2-name -d 'By which of its names Slurm knows an EC2 instance: dns, id or tag:KEY' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from generate" -l feature -d 'The feature or comment that names a node\'s block, with a star for the name' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from generate" -l region -d 'The region; if not given that of AWS_REGION, the profile or this instance' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from generate" -l profile -d 'The profile of ~/.aws with credentials, region and endpoint; if not given that of AWS_PROFILE' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from generate" -l endpoint-url -d 'Another address for EC2 and PCS; if not given that of AWS_ENDPOINT_URL or the profile' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from generate" -l previous -d 'The file that is in use: its names, order and other topologies stay' -r -F
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from generate" -l name -d 'Name of the topology' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from generate" -l names -d 'How new blocks of an NVLink fabric are named' -r -f -a "key\t'UUID and clique id'
short\t'The first digits of the UUID and the clique id'"
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from generate" -l sizes -d 'Block sizes, the base first, for instance 18,36; inferred if not given' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from generate" -l flat -d 'Add a flat topology of this name for partitions with nodes outside of blocks' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from generate" -l slurm-version -d 'The Slurm that reads the file; before 25.05 it is a topology.conf' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from generate" -l json -d 'Print JSON: the file\'s text and what should be known of it'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from generate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from lint" -l form -d 'What the file is, if its name does not tell' -r -f -a "yaml\t'topology.yaml'
conf\t'topology.conf'"
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from lint" -l slurm-conf -d 'Judge nodes and partitions with this slurm.conf' -r -F
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from lint" -l pcs-cluster -d 'Judge the queues of this AWS PCS cluster as well, by its name or id' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from lint" -l region -d 'The region; if not given that of AWS_REGION, the profile or this instance' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from lint" -l profile -d 'The profile of ~/.aws with credentials, region and endpoint; if not given that of AWS_PROFILE' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from lint" -l endpoint-url -d 'Another address for EC2 and PCS; if not given that of AWS_ENDPOINT_URL or the profile' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from lint" -l slurm-version -d 'Judge for this version of Slurm' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from lint" -l strict -d 'Take warnings for errors'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from lint" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from lint" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from diff" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from diff" -s h -l help -d 'Print help'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from identify" -l by -d 'Whom to ask: NVIDIA\'s library NVML, nvidia-smi, or (auto) nvidia-smi only where there is no library' -r -f -a "auto\t'The library, or nvidia-smi where it is missing'
nvml\t'The library'
nvidia-smi\t'The tool'"
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from identify" -l library -d 'The library' -r -F
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from identify" -l nvidia-smi -d 'Read the text of nvidia-smi -q, or CSV with fabric columns, instead of asking; - for standard input' -r -F
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from identify" -l node -d 'The name that Slurm knows the node by; its host name up to the first dot if not given' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from identify" -l timeout -d 'How long an answer may take, for instance 500ms, 60s, 2m' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from identify" -l path -d 'Where other programs are looked for: folders with colons between' -r
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from identify" -l environment-path -d 'What PATH says' -r
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from identify" -l pieces -d 'Print it in short lines with checks, which srun does not mix with those of other nodes'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from identify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from collect" -l srun -d 'Run identify on these nodes with srun' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from collect" -l timeout -d 'How long srun may take, for instance 500ms, 60s, 2m' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from collect" -l path -d 'Where other programs are looked for: folders with colons between' -r
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from collect" -l environment-path -d 'What PATH says' -r
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from collect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from apply" -l to -d 'The file that the controller reads' -r -F
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from apply" -l path -d 'Where other programs are looked for: folders with colons between' -r
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from apply" -l environment-path -d 'What PATH says' -r
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from apply" -l ask -d 'How long one question to the controller may take, for instance 500ms, 10s' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from apply" -l load -d 'How long the controller may take to hold a topology that it was told to load' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from apply" -l dry-run -d 'Show what would change, and change nothing'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from apply" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from verify" -l source -d 'Compare the file with this source, too, as for generate; may be repeated' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from verify" -l ec2-name -d 'By which of its names Slurm knows an EC2 instance: dns, id or tag:KEY' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from verify" -l feature -d 'The feature or comment that names a node\'s block, with a star for the name' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from verify" -l region -d 'The region; if not given that of AWS_REGION, the profile or this instance' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from verify" -l profile -d 'The profile of ~/.aws with credentials, region and endpoint; if not given that of AWS_PROFILE' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from verify" -l endpoint-url -d 'Another address for EC2 and PCS; if not given that of AWS_ENDPOINT_URL or the profile' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from verify" -l name -d 'Name of the topology' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from verify" -l names -d 'How new blocks of an NVLink fabric are named' -r -f -a "key\t'UUID and clique id'
short\t'The first digits of the UUID and the clique id'"
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from verify" -l sizes -d 'Block sizes, the base first, for instance 18,36; inferred if not given' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from verify" -l flat -d 'Add a flat topology of this name for partitions with nodes outside of blocks' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from verify" -l slurm-version -d 'The Slurm that reads the file; before 25.05 it is a topology.conf' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from verify" -l path -d 'Where other programs are looked for: folders with colons between' -r
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from verify" -l environment-path -d 'What PATH says' -r
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from verify" -l ask -d 'How long one question to the controller may take, for instance 500ms, 10s' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from verify" -l load -d 'How long the controller may take to hold a topology that it was told to load' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from verify" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l source -d 'Where nodes are, the most trusted source first; may be repeated' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l ec2-name -d 'By which of its names Slurm knows an EC2 instance: dns, id or tag:KEY' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l feature -d 'The feature or comment that names a node\'s block, with a star for the name' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l region -d 'The region; if not given that of AWS_REGION, the profile or this instance' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l profile -d 'The profile of ~/.aws with credentials, region and endpoint; if not given that of AWS_PROFILE' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l endpoint-url -d 'Another address for EC2 and PCS; if not given that of AWS_ENDPOINT_URL or the profile' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l name -d 'Name of the topology' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l names -d 'How new blocks of an NVLink fabric are named' -r -f -a "key\t'UUID and clique id'
short\t'The first digits of the UUID and the clique id'"
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l sizes -d 'Block sizes, the base first, for instance 18,36; inferred if not given' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l flat -d 'Add a flat topology of this name for partitions with nodes outside of blocks' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l slurm-version -d 'The Slurm that reads the file; before 25.05 it is a topology.conf' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l to -d 'The file that the controller reads' -r -F
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l interval -d 'The time between polls, for instance 30s, 1m' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l debounce -d 'How long a change must stay the same before it is applied' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l max-loss -d 'The share of nodes in percent that may be lost at once without a second poll' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l verify -d 'How often the controller is asked if it still holds the file' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l metrics -d 'Write metrics for Prometheus\' node_exporter to this file, whose name ends in .prom' -r -F
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l path -d 'Where other programs are looked for: folders with colons between' -r
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l environment-path -d 'What PATH says' -r
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l ask -d 'How long one question to the controller may take, for instance 500ms, 10s' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l load -d 'How long the controller may take to hold a topology that it was told to load' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l allow-shrink -d 'Apply losses of any size like other changes'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -l once -d 'Poll until nothing is left to wait for, then end; the exit code tells if the last poll was good'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from watch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from node-map" -l source -d 'Where nodes are, the most trusted source first; may be repeated' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from node-map" -l ec2-name -d 'By which of its names Slurm knows an EC2 instance: dns, id or tag:KEY' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from node-map" -l feature -d 'The feature or comment that names a node\'s block, with a star for the name' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from node-map" -l region -d 'The region; if not given that of AWS_REGION, the profile or this instance' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from node-map" -l profile -d 'The profile of ~/.aws with credentials, region and endpoint; if not given that of AWS_PROFILE' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from node-map" -l endpoint-url -d 'Another address for EC2 and PCS; if not given that of AWS_ENDPOINT_URL or the profile' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from node-map" -l node -d 'The node' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from node-map" -l scope -d 'Whose domain it is' -r -f -a "domain\t'All nodes of the NVLink domain'
partition\t'The nodes of the NVLink partition'"
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from node-map" -l addresses -d 'Write the addresses that scontrol show nodes --json tells instead of names' -r -F
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from node-map" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from node-map" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from plan" -s N -l nodes -d 'How many nodes the job asks for' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from plan" -l segment -d 'How many nodes must be in one block, as sbatch --segment' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from plan" -l gres -d 'What each node must have, for instance gpu:4, as sbatch --gres' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from plan" -s w -l nodelist -d 'Nodes that must be among them, as sbatch --nodelist' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from plan" -s x -l exclude -d 'Nodes that must not, as sbatch --exclude' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from plan" -l job -d 'Plan this job of the controller, and explain why it is pending' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from plan" -l job-json -d 'Read the job from saved output of scontrol show job --json; - for standard input' -r -F
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from plan" -l topology -d 'topology.yaml, topology.conf or saved output of scontrol show topology; - for standard input' -r -F
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from plan" -l name -d 'Which topology of the file; the default one if not given' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from plan" -l nodes-json -d 'Read the nodes\' states from saved output of scontrol show nodes --json; - for standard input' -r -F
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from plan" -l down -d 'Nodes that count as down, whatever else is known of them' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from plan" -l gpus-per-group -d 'Find the segment that keeps groups of this many GPUs in one block' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from plan" -l gpus-per-node -d 'How many GPUs a node has' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from plan" -l svg -d 'Also draw racks and segments into this file' -r -F
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from plan" -l timeout -d 'How long the controller may take to answer, for instance 500ms, 60s, 2m' -r -f
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from plan" -l spread-segments -d 'Each segment in blocks of its own, as sbatch --spread-segments'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from plan" -l consolidate-segments -d 'All segments in one block, or in one group of blocks, that could hold the job, as sbatch --consolidate-segments'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from plan" -l exclusive -d 'Only nodes without any job; this is the default'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from plan" -l shared -d 'Also nodes that other jobs have a part of'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from plan" -l live -d 'Ask the controller for the nodes\' states, although the topology is a file'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from plan" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from help" -f -a "generate" -d 'Write Slurm\'s topology for what the sources say'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from help" -f -a "lint" -d 'Judge a topology file as slurmctld would, and beyond'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from help" -f -a "diff" -d 'Tell what changes between two topology files, by node and block'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from help" -f -a "identify" -d 'Print this node\'s fabric identity as one line of JSON'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from help" -f -a "collect" -d 'Gather identities of many nodes, one line each'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from help" -f -a "apply" -d 'Put a topology into use: write the file, have the controller load it, and see that it does'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from help" -f -a "verify" -d 'Compare what the controller holds with the file, and the file with the sources'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from help" -f -a "watch" -d 'Keep the topology in use true to the sources'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from help" -f -a "node-map" -d 'Print the node map of a node whose domain is not made for each job'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Tell where a job would land, or why it would not start'
complete -c imex -n "__fish_imex_using_subcommand topology; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c imex -n "__fish_imex_using_subcommand pki; and not __fish_seen_subcommand_from init issue show help" -s h -l help -d 'Print help'
complete -c imex -n "__fish_imex_using_subcommand pki; and not __fish_seen_subcommand_from init issue show help" -f -a "init" -d 'Make an authority: a key and a certificate that the nodes trust'
complete -c imex -n "__fish_imex_using_subcommand pki; and not __fish_seen_subcommand_from init issue show help" -f -a "issue" -d 'Issue certificates for the nodes of a map, or for one node'
complete -c imex -n "__fish_imex_using_subcommand pki; and not __fish_seen_subcommand_from init issue show help" -f -a "show" -d 'Tell what is in certificates, and whether they count'
complete -c imex -n "__fish_imex_using_subcommand pki; and not __fish_seen_subcommand_from init issue show help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c imex -n "__fish_imex_using_subcommand pki; and __fish_seen_subcommand_from init" -l dir -d 'Directory of the authority' -r -F
complete -c imex -n "__fish_imex_using_subcommand pki; and __fish_seen_subcommand_from init" -l name -d 'What the authority is called in its certificate' -r -f
complete -c imex -n "__fish_imex_using_subcommand pki; and __fish_seen_subcommand_from init" -l days -d 'For how many days it counts, at most 36500' -r -f
complete -c imex -n "__fish_imex_using_subcommand pki; and __fish_seen_subcommand_from init" -l force -d 'Replace files that are there'
complete -c imex -n "__fish_imex_using_subcommand pki; and __fish_seen_subcommand_from init" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand pki; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand pki; and __fish_seen_subcommand_from issue" -l dir -d 'Directory of the authority' -r -F
complete -c imex -n "__fish_imex_using_subcommand pki; and __fish_seen_subcommand_from issue" -l nodes -d 'Every node of this node list' -r -F
complete -c imex -n "__fish_imex_using_subcommand pki; and __fish_seen_subcommand_from issue" -l node -d 'This node: its entry of the node list, an address or a host name' -r -f
complete -c imex -n "__fish_imex_using_subcommand pki; and __fish_seen_subcommand_from issue" -l address -d 'Further addresses that the node\'s certificates are good for' -r -f
complete -c imex -n "__fish_imex_using_subcommand pki; and __fish_seen_subcommand_from issue" -l days -d 'For how many days they count, at most 36500' -r -f
complete -c imex -n "__fish_imex_using_subcommand pki; and __fish_seen_subcommand_from issue" -l out -d 'Directory for the nodes\' directories; the authority\'s, in `nodes`, if not given' -r -F
complete -c imex -n "__fish_imex_using_subcommand pki; and __fish_seen_subcommand_from issue" -l installed -d 'Where each node will have its own files, for the lines of config.cfg' -r -F
complete -c imex -n "__fish_imex_using_subcommand pki; and __fish_seen_subcommand_from issue" -l force -d 'Replace files that are there'
complete -c imex -n "__fish_imex_using_subcommand pki; and __fish_seen_subcommand_from issue" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand pki; and __fish_seen_subcommand_from issue" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand pki; and __fish_seen_subcommand_from show" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand pki; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c imex -n "__fish_imex_using_subcommand pki; and __fish_seen_subcommand_from help" -f -a "init" -d 'Make an authority: a key and a certificate that the nodes trust'
complete -c imex -n "__fish_imex_using_subcommand pki; and __fish_seen_subcommand_from help" -f -a "issue" -d 'Issue certificates for the nodes of a map, or for one node'
complete -c imex -n "__fish_imex_using_subcommand pki; and __fish_seen_subcommand_from help" -f -a "show" -d 'Tell what is in certificates, and whether they count'
complete -c imex -n "__fish_imex_using_subcommand pki; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c imex -n "__fish_imex_using_subcommand slurm; and not __fish_seen_subcommand_from prolog epilog sweep task-prolog settings check metrics help" -s h -l help -d 'Print help'
complete -c imex -n "__fish_imex_using_subcommand slurm; and not __fish_seen_subcommand_from prolog epilog sweep task-prolog settings check metrics help" -f -a "prolog" -d 'Form this node\'s domain for the job that is about to start: Slurm\'s Prolog'
complete -c imex -n "__fish_imex_using_subcommand slurm; and not __fish_seen_subcommand_from prolog epilog sweep task-prolog settings check metrics help" -f -a "epilog" -d 'Take away what the prolog made for a job: Slurm\'s Epilog'
complete -c imex -n "__fish_imex_using_subcommand slurm; and not __fish_seen_subcommand_from prolog epilog sweep task-prolog settings check metrics help" -f -a "sweep" -d 'Take away what lost epilogs left behind: at boot, and as Slurm\'s HealthCheckProgram'
complete -c imex -n "__fish_imex_using_subcommand slurm; and not __fish_seen_subcommand_from prolog epilog sweep task-prolog settings check metrics help" -f -a "task-prolog" -d 'Let a task start only if its job\'s domain is UP, and tell it of the domain: Slurm\'s TaskProlog'
complete -c imex -n "__fish_imex_using_subcommand slurm; and not __fish_seen_subcommand_from prolog epilog sweep task-prolog settings check metrics help" -f -a "settings" -d 'Print the lines that slurm.conf needs, and what each really means'
complete -c imex -n "__fish_imex_using_subcommand slurm; and not __fish_seen_subcommand_from prolog epilog sweep task-prolog settings check metrics help" -f -a "check" -d 'Judge a slurm.conf, or a running controller, for jobs that need a verified domain'
complete -c imex -n "__fish_imex_using_subcommand slurm; and not __fish_seen_subcommand_from prolog epilog sweep task-prolog settings check metrics help" -f -a "metrics" -d 'Tell Prometheus what the records of prologs, epilogs and sweeps come to'
complete -c imex -n "__fish_imex_using_subcommand slurm; and not __fish_seen_subcommand_from prolog epilog sweep task-prolog settings check metrics help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from prolog" -s c -l config -d 'How domains are made on this node' -r -F
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from prolog" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from prolog" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from epilog" -s c -l config -d 'How domains are made on this node' -r -F
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from epilog" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from epilog" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from sweep" -s c -l config -d 'How domains are made on this node' -r -F
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from sweep" -l node -d 'The name by which Slurm knows this node' -r -f
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from sweep" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from sweep" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from task-prolog" -s c -l config -d 'How domains are made on this node' -r -F
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from task-prolog" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from task-prolog" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from settings" -l scripts -d 'The folder of the scripts on every node' -r -F
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from settings" -s c -l config -d 'How domains are made: openimex.toml' -r -F
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from settings" -l slurm-version -d 'Write them for this release of Slurm; without it, for all' -r -f
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from settings" -l pcs -d 'Print the JSON for aws pcs update-cluster --slurm-configuration'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from settings" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from settings" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from check" -l slurm-version -d 'Judge for this release of Slurm; a controller tells its own' -r -f
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from check" -s c -l config -d 'How domains are made: openimex.toml' -r -F
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from check" -l path -d 'Where other programs are looked for: folders with colons between' -r
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from check" -l environment-path -d 'What PATH says' -r
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from check" -l ask -d 'How long one question to the controller may take, for instance 500ms, 10s' -r -f
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from check" -l live -d 'Ask the controller what it holds'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from check" -l no-scripts -d 'Do not look at the scripts: they are on other machines'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from check" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from metrics" -l to -d 'Write them to this file, as a whole, for a collector of text files' -r -F
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from metrics" -s c -l config -d 'How domains are made: openimex.toml' -r -F
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from metrics" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from metrics" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from help" -f -a "prolog" -d 'Form this node\'s domain for the job that is about to start: Slurm\'s Prolog'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from help" -f -a "epilog" -d 'Take away what the prolog made for a job: Slurm\'s Epilog'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from help" -f -a "sweep" -d 'Take away what lost epilogs left behind: at boot, and as Slurm\'s HealthCheckProgram'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from help" -f -a "task-prolog" -d 'Let a task start only if its job\'s domain is UP, and tell it of the domain: Slurm\'s TaskProlog'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from help" -f -a "settings" -d 'Print the lines that slurm.conf needs, and what each really means'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from help" -f -a "check" -d 'Judge a slurm.conf, or a running controller, for jobs that need a verified domain'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from help" -f -a "metrics" -d 'Tell Prometheus what the records of prologs, epilogs and sweeps come to'
complete -c imex -n "__fish_imex_using_subcommand slurm; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c imex -n "__fish_imex_using_subcommand doctor; and not __fish_seen_subcommand_from explain help" -s c -l config -d 'How domains are made: openimex.toml' -r -F
complete -c imex -n "__fish_imex_using_subcommand doctor; and not __fish_seen_subcommand_from explain help" -l as -d 'The user whose access to the channel counts; who runs this if not given' -r -f
complete -c imex -n "__fish_imex_using_subcommand doctor; and not __fish_seen_subcommand_from explain help" -l ask -d 'How long each question to another program, bus or machine may take, for instance 500ms, 2s' -r -f
complete -c imex -n "__fish_imex_using_subcommand doctor; and not __fish_seen_subcommand_from explain help" -l root -d 'Look at a machine whose files lie under this folder' -r -F
complete -c imex -n "__fish_imex_using_subcommand doctor; and not __fish_seen_subcommand_from explain help" -l path -d 'Where other programs are looked for: folders with colons between' -r
complete -c imex -n "__fish_imex_using_subcommand doctor; and not __fish_seen_subcommand_from explain help" -l environment-path -d 'What PATH says' -r
complete -c imex -n "__fish_imex_using_subcommand doctor; and not __fish_seen_subcommand_from explain help" -l slurm-conf -d 'Where slurm.conf is; the controller is asked where there is none' -r -F
complete -c imex -n "__fish_imex_using_subcommand doctor; and not __fish_seen_subcommand_from explain help" -l only -d 'Judge by these checks only, for instance D04,D21' -r -f
complete -c imex -n "__fish_imex_using_subcommand doctor; and not __fish_seen_subcommand_from explain help" -l skip -d 'Judge without these checks, for instance D40,D41, which are the same on every node' -r -f
complete -c imex -n "__fish_imex_using_subcommand doctor; and not __fish_seen_subcommand_from explain help" -l bundle -d 'Also write facts, findings, files and the ends of logs, without secrets, into this tar.gz' -r -F
complete -c imex -n "__fish_imex_using_subcommand doctor; and not __fish_seen_subcommand_from explain help" -s q -l quiet -d 'Show only what is not ok'
complete -c imex -n "__fish_imex_using_subcommand doctor; and not __fish_seen_subcommand_from explain help" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand doctor; and not __fish_seen_subcommand_from explain help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand doctor; and not __fish_seen_subcommand_from explain help" -f -a "explain" -d 'Tell what a code of CUDA means here: 101, 400, 401, 719, 800, 801, 802'
complete -c imex -n "__fish_imex_using_subcommand doctor; and not __fish_seen_subcommand_from explain help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c imex -n "__fish_imex_using_subcommand doctor; and __fish_seen_subcommand_from explain" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand doctor; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand doctor; and __fish_seen_subcommand_from help" -f -a "explain" -d 'Tell what a code of CUDA means here: 101, 400, 401, 719, 800, 801, 802'
complete -c imex -n "__fish_imex_using_subcommand doctor; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c imex -n "__fish_imex_using_subcommand validate; and not __fish_seen_subcommand_from member help" -s N -l nodes -d 'How many nodes the script asks for; it leaves that to sbatch if not given' -r -f
complete -c imex -n "__fish_imex_using_subcommand validate; and not __fish_seen_subcommand_from member help" -s p -l partition -d 'Which partition the script asks for; it leaves that to sbatch if not given' -r -f
complete -c imex -n "__fish_imex_using_subcommand validate; and not __fish_seen_subcommand_from member help" -s c -l config -d 'How domains are made: openimex.toml' -r -F
complete -c imex -n "__fish_imex_using_subcommand validate; and not __fish_seen_subcommand_from member help" -l reports -d 'Judge what members have told before, one JSON a line, instead of asking them; - for standard input' -r -F
complete -c imex -n "__fish_imex_using_subcommand validate; and not __fish_seen_subcommand_from member help" -l timeout -d 'How long all members together may take, for instance 30s, 2m' -r -f
complete -c imex -n "__fish_imex_using_subcommand validate; and not __fish_seen_subcommand_from member help" -l bandwidth-timeout -d 'How long nvbandwidth may take' -r -f
complete -c imex -n "__fish_imex_using_subcommand validate; and not __fish_seen_subcommand_from member help" -l min-bandwidth -d 'Fail if any pair of GPUs has less than this, in GB/s' -r -f
complete -c imex -n "__fish_imex_using_subcommand validate; and not __fish_seen_subcommand_from member help" -l gpus-per-node -d 'How many GPUs a node has: so many ranks of nvbandwidth are started on each' -r -f
complete -c imex -n "__fish_imex_using_subcommand validate; and not __fish_seen_subcommand_from member help" -l path -d 'Where other programs are looked for: folders with colons between' -r
complete -c imex -n "__fish_imex_using_subcommand validate; and not __fish_seen_subcommand_from member help" -l environment-path -d 'What PATH says' -r
complete -c imex -n "__fish_imex_using_subcommand validate; and not __fish_seen_subcommand_from member help" -l job -d 'A running job of yours, looked at from outside of it; inside it is the job\'s own' -r -f
complete -c imex -n "__fish_imex_using_subcommand validate; and not __fish_seen_subcommand_from member help" -l nodelist -d 'The job\'s nodes; Slurm is asked if they are not given' -r -f
complete -c imex -n "__fish_imex_using_subcommand validate; and not __fish_seen_subcommand_from member help" -l own-job -d 'The job that this runs in, if it runs in one' -r -f
complete -c imex -n "__fish_imex_using_subcommand validate; and not __fish_seen_subcommand_from member help" -l own-nodes -d 'The nodes of that job' -r -f
complete -c imex -n "__fish_imex_using_subcommand validate; and not __fish_seen_subcommand_from member help" -l step -d 'The step that this runs in, if it is not the job\'s script' -r -f
complete -c imex -n "__fish_imex_using_subcommand validate; and not __fish_seen_subcommand_from member help" -l script -d 'Print a batch script that validates with the other options given, for sbatch, and do nothing else'
complete -c imex -n "__fish_imex_using_subcommand validate; and not __fish_seen_subcommand_from member help" -l bandwidth -d 'Also measure the bandwidth between all GPUs with nvbandwidth, if it is found'
complete -c imex -n "__fish_imex_using_subcommand validate; and not __fish_seen_subcommand_from member help" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand validate; and not __fish_seen_subcommand_from member help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand validate; and not __fish_seen_subcommand_from member help" -f -a "member" -d 'Tell what this member knows, as one line of JSON: what validate starts on every node'
complete -c imex -n "__fish_imex_using_subcommand validate; and not __fish_seen_subcommand_from member help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c imex -n "__fish_imex_using_subcommand validate; and __fish_seen_subcommand_from member" -s c -l config -d 'How domains are made: openimex.toml' -r -F
complete -c imex -n "__fish_imex_using_subcommand validate; and __fish_seen_subcommand_from member" -l node -d 'This node\'s name in Slurm' -r -f
complete -c imex -n "__fish_imex_using_subcommand validate; and __fish_seen_subcommand_from member" -l job -d 'The job that this runs in, as Slurm says it' -r -f
complete -c imex -n "__fish_imex_using_subcommand validate; and __fish_seen_subcommand_from member" -l ask -d 'How long one question may take' -r -f
complete -c imex -n "__fish_imex_using_subcommand validate; and __fish_seen_subcommand_from member" -l path -d 'Where other programs are looked for: folders with colons between' -r
complete -c imex -n "__fish_imex_using_subcommand validate; and __fish_seen_subcommand_from member" -l environment-path -d 'What PATH says' -r
complete -c imex -n "__fish_imex_using_subcommand validate; and __fish_seen_subcommand_from member" -l root -d 'Look at a machine whose files lie under this folder' -r -F
complete -c imex -n "__fish_imex_using_subcommand validate; and __fish_seen_subcommand_from member" -l pieces -d 'Tell it in short lines with checks, which srun does not mix with those of other nodes'
complete -c imex -n "__fish_imex_using_subcommand validate; and __fish_seen_subcommand_from member" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand validate; and __fish_seen_subcommand_from help" -f -a "member" -d 'Tell what this member knows, as one line of JSON: what validate starts on every node'
complete -c imex -n "__fish_imex_using_subcommand validate; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c imex -n "__fish_imex_using_subcommand help; and not __fish_seen_subcommand_from wait lab follow channel topology pki slurm doctor validate help" -f -a "wait" -d 'Wait until the domain is UP, and tell who is missing if it does not come'
complete -c imex -n "__fish_imex_using_subcommand help; and not __fish_seen_subcommand_from wait lab follow channel topology pki slurm doctor validate help" -f -a "lab" -d 'Run a rack of real daemons on this machine, without a GPU'
complete -c imex -n "__fish_imex_using_subcommand help; and not __fish_seen_subcommand_from wait lab follow channel topology pki slurm doctor validate help" -f -a "follow" -d 'Keep this node\'s map in line with the topology, where domains are not made for each job'
complete -c imex -n "__fish_imex_using_subcommand help; and not __fish_seen_subcommand_from wait lab follow channel topology pki slurm doctor validate help" -f -a "channel" -d 'Make, remove and check the channel devices, without which no program can share GPU memory between machines'
complete -c imex -n "__fish_imex_using_subcommand help; and not __fish_seen_subcommand_from wait lab follow channel topology pki slurm doctor validate help" -f -a "topology" -d 'Find which nodes share an NVLink fabric, and keep Slurm\'s topology true to it'
complete -c imex -n "__fish_imex_using_subcommand help; and not __fish_seen_subcommand_from wait lab follow channel topology pki slurm doctor validate help" -f -a "pki" -d 'Make an authority and certificates for the nodes, where security is to be switched on'
complete -c imex -n "__fish_imex_using_subcommand help; and not __fish_seen_subcommand_from wait lab follow channel topology pki slurm doctor validate help" -f -a "slurm" -d 'Make domains for Slurm\'s jobs, and see that Slurm is set up for it'
complete -c imex -n "__fish_imex_using_subcommand help; and not __fish_seen_subcommand_from wait lab follow channel topology pki slurm doctor validate help" -f -a "doctor" -d 'Examine this node by numbered checks: what is wrong, by what evidence, and what to do'
complete -c imex -n "__fish_imex_using_subcommand help; and not __fish_seen_subcommand_from wait lab follow channel topology pki slurm doctor validate help" -f -a "validate" -d 'Verify the domain of the job that this runs in, by what every member says of itself'
complete -c imex -n "__fish_imex_using_subcommand help; and not __fish_seen_subcommand_from wait lab follow channel topology pki slurm doctor validate help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "up" -d 'Start a lab in the background and wait until its domain is UP'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "own" -d 'Own a lab: what `up` starts in the background'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "status" -d 'Tell how the nodes and the domain fare'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "kill" -d 'Send a signal to a node'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "start" -d 'Start a node that has ended'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "down" -d 'End all nodes and the lab; its files stay'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from channel" -f -a "list" -d 'Show the channels of this node, and what is wrong with them'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from channel" -f -a "create" -d 'Make channels what they should be'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from channel" -f -a "remove" -d 'Remove channels'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from channel" -f -a "check" -d 'Tell if channels are what they should be, and if a user could open them'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from topology" -f -a "generate" -d 'Write Slurm\'s topology for what the sources say'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from topology" -f -a "lint" -d 'Judge a topology file as slurmctld would, and beyond'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from topology" -f -a "diff" -d 'Tell what changes between two topology files, by node and block'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from topology" -f -a "identify" -d 'Print this node\'s fabric identity as one line of JSON'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from topology" -f -a "collect" -d 'Gather identities of many nodes, one line each'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from topology" -f -a "apply" -d 'Put a topology into use: write the file, have the controller load it, and see that it does'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from topology" -f -a "verify" -d 'Compare what the controller holds with the file, and the file with the sources'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from topology" -f -a "watch" -d 'Keep the topology in use true to the sources'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from topology" -f -a "node-map" -d 'Print the node map of a node whose domain is not made for each job'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from topology" -f -a "plan" -d 'Tell where a job would land, or why it would not start'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from pki" -f -a "init" -d 'Make an authority: a key and a certificate that the nodes trust'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from pki" -f -a "issue" -d 'Issue certificates for the nodes of a map, or for one node'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from pki" -f -a "show" -d 'Tell what is in certificates, and whether they count'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from slurm" -f -a "prolog" -d 'Form this node\'s domain for the job that is about to start: Slurm\'s Prolog'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from slurm" -f -a "epilog" -d 'Take away what the prolog made for a job: Slurm\'s Epilog'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from slurm" -f -a "sweep" -d 'Take away what lost epilogs left behind: at boot, and as Slurm\'s HealthCheckProgram'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from slurm" -f -a "task-prolog" -d 'Let a task start only if its job\'s domain is UP, and tell it of the domain: Slurm\'s TaskProlog'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from slurm" -f -a "settings" -d 'Print the lines that slurm.conf needs, and what each really means'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from slurm" -f -a "check" -d 'Judge a slurm.conf, or a running controller, for jobs that need a verified domain'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from slurm" -f -a "metrics" -d 'Tell Prometheus what the records of prologs, epilogs and sweeps come to'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from doctor" -f -a "explain" -d 'Tell what a code of CUDA means here: 101, 400, 401, 719, 800, 801, 802'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from validate" -f -a "member" -d 'Tell what this member knows, as one line of JSON: what validate starts on every node'
