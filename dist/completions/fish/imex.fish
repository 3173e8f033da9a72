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
complete -c imex -n "__fish_imex_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c imex -n "__fish_imex_using_subcommand wait" -s c -l config -d 'Configuration file of the local daemon' -r -F
complete -c imex -n "__fish_imex_using_subcommand wait" -l timeout -d 'How long to wait, for instance 500ms, 60s, 2m' -r
complete -c imex -n "__fish_imex_using_subcommand wait" -l members -d 'Demand that the domain has this many nodes' -r
complete -c imex -n "__fish_imex_using_subcommand wait" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand wait" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -l dir -d 'Directory for the nodes\' files; temporary if not given' -r -F
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -l nodes -d 'How many nodes' -r
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -l port -d 'TCP port of every node' -r
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -l imexd -d 'Another daemon to run instead of the one in this program' -r -F
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -l timeout -d 'How long the domain may take to be UP, for instance 500ms, 60s, 2m' -r
complete -c imex -n "__fish_imex_using_subcommand lab; and not __fish_seen_subcommand_from up own status kill start down help" -l set -d 'Set a key of every node\'s config.cfg; may be repeated' -r
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
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from up" -l nodes -d 'How many nodes' -r
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from up" -l port -d 'TCP port of every node' -r
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from up" -l imexd -d 'Another daemon to run instead of the one in this program' -r -F
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from up" -l timeout -d 'How long the domain may take to be UP, for instance 500ms, 60s, 2m' -r
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from up" -l set -d 'Set a key of every node\'s config.cfg; may be repeated' -r
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from up" -l json -d 'Print JSON'
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from up" -s h -l help -d 'Print help'
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from own" -l dir -d 'The lab\'s directory' -r -F
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from own" -l nodes -d 'How many nodes' -r
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from own" -l port -d 'TCP port of every node' -r
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from own" -l imexd -d 'Another daemon to run instead of the one in this program' -r -F
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from own" -l timeout -d 'How long the domain may take to be UP, for instance 500ms, 60s, 2m' -r
complete -c imex -n "__fish_imex_using_subcommand lab; and __fish_seen_subcommand_from own" -l set -d 'Set a key of every node\'s config.cfg; may be repeated' -r
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
complete -c imex -n "__fish_imex_using_subcommand help; and not __fish_seen_subcommand_from wait lab help" -f -a "wait" -d 'Wait until the domain is UP, and tell who is missing if it does not come'
complete -c imex -n "__fish_imex_using_subcommand help; and not __fish_seen_subcommand_from wait lab help" -f -a "lab" -d 'Run a rack of real daemons on this machine, without a GPU'
complete -c imex -n "__fish_imex_using_subcommand help; and not __fish_seen_subcommand_from wait lab help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "up" -d 'Start a lab in the background and wait until its domain is UP'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "own" -d 'Own a lab: what `up` starts in the background'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "status" -d 'Tell how the nodes and the domain fare'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "kill" -d 'Send a signal to a node'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "start" -d 'Start a node that has ended'
complete -c imex -n "__fish_imex_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "down" -d 'End all nodes and the lab; its files stay'
