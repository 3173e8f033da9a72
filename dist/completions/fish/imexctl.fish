complete -c imexctl -s t -d 'With -s: end after so many milliseconds' -r -f
complete -c imexctl -s c -d 'Ask the daemon of this configuration file [default: /etc/nvidia-imex/config.cfg]' -r -F
complete -c imexctl -s i -d 'Ask the daemon that listens at this address' -r -f
complete -c imexctl -s u -d 'Ask the daemon that listens on this Unix socket' -r -F
complete -c imexctl -s q -d 'Print the daemon\'s state, once'
complete -c imexctl -s N -d 'Print the whole domain, once'
complete -c imexctl -s n -d 'Print the whole domain now and whenever it changes'
complete -c imexctl -s s -d 'Print the daemon\'s state now and whenever it changes, until the daemon ends'
complete -c imexctl -s H -d 'With -N and -n: print the machines\' names too'
complete -c imexctl -s j -d 'With -N and -n: print JSON'
complete -c imexctl -s a -d 'Ignored: scripts for old versions pass it'
complete -c imexctl -s d -d 'Listed in the usage of `nvidia-imex-ctl`, meaning not public'
complete -c imexctl -s m -d 'Listed in the usage of `nvidia-imex-ctl`, meaning not public'
complete -c imexctl -s h -d 'Print this help and exit with 1, as nvidia-imex-ctl does'
complete -c imexctl -l help -d 'Print this help'
complete -c imexctl -s V -l version -d 'Print version'
