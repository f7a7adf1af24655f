# ~/.bashrc: read by bash when it is not a login shell.

# export LS_OPTIONS='--color=auto'
# alias ls='ls $LS_OPTIONS'
# alias ll='ls $LS_OPTIONS -l'
# alias l='ls $LS_OPTIONS -lA'
#
# alias rm='rm -i'
# alias cp='cp -i'
# alias mv='mv -i'
