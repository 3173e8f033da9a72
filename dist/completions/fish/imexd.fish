complete -c imexd -s c -l config -d 'Configuration file' -r -F
complete -c imexd -s p -l port -d 'TCP port for peers, in place of the configured SERVER_PORT' -r -f
complete -c imexd -l die-with-parent -d 'End when the process that started this one, whose number it gives here, ends; for labs and tests' -r -f
complete -c imexd -l nogpu -d 'Run without a GPU driver (also -nogpu)'
complete -c imexd -l check -d 'Report every problem of the configuration and of the node map, then exit'
complete -c imexd -l version -d 'Print the version and exit'
complete -c imexd -l daemon-child -d 'The second half of a start with DAEMONIZE=1: reports on standard output that it runs'
complete -c imexd -s h -l help -d 'Print help (see more with \'--help\')'
