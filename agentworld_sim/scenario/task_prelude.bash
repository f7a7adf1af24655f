# Put before the RUN lines and the test script of a task: what they install is there, or was left out.
apt-get() { :; }
apt() { :; }
add-apt-repository() { :; }
update-alternatives() { :; }
# The folder of the system's programs cannot be written to.
ln() {
  case "${@: -1}" in
    /usr/bin/*) set -- "${@:1:$#-1}" "/usr/local/bin/$(basename "${@: -1}")" ;;
  esac
  command ln "$@"
}
curl() { case "$*" in *astral.sh/uv*) ;; *) command curl "$@" ;; esac }
wget() { case "$*" in *astral.sh/uv*) ;; *) command wget "$@" ;; esac }
pip() { case " $* " in *" ."*|*" -e "*|*" /"*) command pip "$@" ;; esac }
pip3() { pip "$@"; }
uvx() {
  while [ $# -gt 0 ]; do
    case "$1" in
      -p|-w|--python|--with|--from) shift 2 ;;
      -*) shift ;;
      *) break ;;
    esac
  done
  "$@"
}
pytest() { python3 -m pytest "$@"; }
uv() { if [ "$1" = run ]; then shift; uvx "$@"; fi }
