# /etc/bash.bashrc: read by interactive bash shells.

# Nothing to do for a shell that nobody types into.
[ -z "$PS1" ] && return

shopt -s checkwinsize
PS1='\u@\h:\w\$ '
