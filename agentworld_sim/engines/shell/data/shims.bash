# Functions that stand before commands of the embedded shell for the length of a script, where its text
# asks for it (`bash_shims.py`). /proc/self/exe is the command of ours that they call; `@ABSENT@` and
# `@NAMES@` are filled in. A function can pass bytes through, which a command written in Python cannot.
# After `#:` stand a command and the scripts, as a regular expression, for which the next function is.

about() {  # Stands before every command that is asked for its version.
  if [ $# = 1 ] && { [ "$1" = --version ] || [ "$1" = --help ]; }; then
    /proc/self/exe about @NAME@ "$1"
  else
    builtin command @NAME@ "$@"
  fi
}

# Programs that ask for the time, or for chance.

#: awk \bawk\b[\s\S]*(?:srand\s*\(\s*\)|systime|strftime)
awk() {
  eval "builtin command awk $(/proc/self/exe awk "$@")"
}

#: jq \bjq\b[\s\S]*\bnow\b
jq() {
  eval "builtin command jq $(/proc/self/exe jq "$@")"
}

#: printf printf[\s\S]*(?:%[^%\s]*\([^)]*\)T|\\x)
printf() {
  eval "builtin printf $(/proc/self/exe printf "$@")"
}

#: sleep sleep[\s\S]*(?:SECONDS|EPOCHREALTIME)|(?:SECONDS|EPOCHREALTIME)[\s\S]*sleep
sleep() {
  local __then=$EPOCHSECONDS
  builtin command sleep "$@"
  local __code=$?
  eval "$(/proc/self/exe clock)"
  SECONDS=$((SECONDS + EPOCHSECONDS - __then))
  return $__code
}

#: sort \bsort\b.*(?:-\w*R|--random-sort)
sort() {
  case " $* " in
    *" -"*R* | *random-sort*) /proc/self/exe sort "$@" ;;
    *) builtin command sort "$@" ;;
  esac
}

#: dd \bdd\b.*\bif=/dev/u?random\b
dd() {  # The embedded one takes the host's entropy for a device of this very name.
  builtin command dd "${@/#if=\/dev\//if=\/dev\/.\/}"
}

# What the embedded commands do in another way.

checksum() {  # The embedded ones stop at the first operand that is no file.
  local __a
  for __a in "$@"; do
    if [ "${__a#-}" = "$__a" ] && [ ! -f "$__a" ]; then
      /proc/self/exe checksum @NAME@ "$@"
      return
    fi
  done
  builtin command @NAME@ "$@"
}

#: base64 \bbase64\s+-
base64() {  # What is left of a text that breaks off is given too.
  case " $* " in
    *" -"[di]* | *" --d"*)
      /proc/self/exe base64 "$@" | builtin command base64 -d
      return ${PIPESTATUS[0]}
      ;;
    *) builtin command base64 "$@" ;;
  esac
}

#: xxd \bxxd\s[^|;&\n]*-\w*p
xxd() {  # Plain hexadecimal numbers stand in lines of thirty bytes.
  local __wide=30 __words=()
  while [ $# -gt 0 ]; do
    case "$1" in
      -r*) __wide=0; __words+=("$1") ;;
      -p | -ps | -plain | -postscript) __words+=(-p) ;;
      -c | -cols) __wide=$2; shift ;;
      -c[0-9]*) __wide=${1#-c} ;;
      -[lsgo]) __words+=("$1" "$2"); shift ;;
      *) __words+=("$1") ;;
    esac
    shift
  done
  if [ "${__words[*]#-p}" = "${__words[*]}" ] || [ "$__wide" = 0 ]; then
    builtin command xxd "${__words[@]}"
  else
    builtin command xxd "${__words[@]}" | fold -w $((__wide * 2))
    return ${PIPESTATUS[0]}
  fi
}

#: column \bcolumn\s[^|;&\n]*-\w*[cx]
column() {
  case " $* " in
    *" -t"* | *" -s"* | *" --t"*) builtin command column "$@" ;;
    *) /proc/self/exe column "$@" ;;
  esac
}

#: join \bjoin\s
join() {
  local __a
  for __a in "${@: -2}"; do
    if [ $# -gt 1 ] && [ "$__a" != - ] && [ ! -e "$__a" ]; then
      echo "join: $__a: No such file or directory" >&2
      return 1
    fi
  done
  builtin command join "$@"
}

#: od \bod\s[^|;&\n]*-\w*t\s*f
od() {  # Floating point numbers are shown as the hexadecimal ones that they are made of.
  local __a __words=()
  for __a in "$@"; do
    case "$__a" in
      f[F4] | -*tf[F4]) __a=${__a%f?}x4 ;;
      f[D8] | -*tf[D8]) __a=${__a%f?}x8 ;;
    esac
    __words+=("$__a")
  done
  builtin command od "${__words[@]}" | /proc/self/exe od_float
  return ${PIPESTATUS[0]}
}

#: split \bsplit\s[^|;&\n]*-(?:\w*a|-suffix)
split() {  # Splits into names of the usual length, and gives them the wanted one.
  local __length= __words=() __operands=() __name __suffix __zero __code=0
  while [ $# -gt 0 ]; do
    case "$1" in
      -a) __length=$2; shift ;;
      -a*) __length=${1#-a} ;;
      --suffix-length=*) __length=${1#*=} ;;
      -[bClnt]) __words+=("$1" "$2"); shift ;;
      -?*) __words+=("$1") ;;
      *) __operands+=("$1") ;;
    esac
    shift
  done
  if [ -z "$__length" ] || [ "${__length//[0-9]/}" ]; then
    echo "split: invalid suffix length: ‘$__length’" >&2
    return 1
  fi
  builtin command split "${__words[@]}" "${__operands[0]:--}" "${__operands[1]:-x}.#" || return
  for __name in "${__operands[1]:-x}.#"*; do
    __suffix=${__name##*.#}
    __zero=a
    case "$__suffix" in [0-9]*) __zero=0 ;; esac
    while [ ${#__suffix} -gt $__length ] && [ "${__suffix#$__zero}" != "$__suffix" ]; do __suffix=${__suffix#?}; done
    while [ ${#__suffix} -lt $__length ]; do __suffix=$__zero$__suffix; done
    if [ ${#__suffix} -gt $__length ]; then
      rm "$__name"
      __code=1
    else
      mv "$__name" "${__operands[1]:-x}$__suffix"
    fi
  done
  if [ $__code = 1 ]; then echo "split: output file suffixes exhausted" >&2; fi
  return $__code
}

#: cmp \bcmp\s
cmp() {
  case " $* " in
    *" - "*) builtin command cmp "$@" ;;
    *" "[!-]*" "[!-]*) /proc/self/exe cmp "$@" ;;
    *) builtin command cmp "$@" ;;
  esac
}

#: tee \btee\s
tee() {
  local __a __ok=() __code=0
  for __a in "$@"; do
    case "$__a" in
      -* | /dev/*) __ok+=("$__a") ;;
      *)
        if [ -d "$__a" ]; then
          echo "tee: $__a: Is a directory" >&2
          __code=1
        elif [ "$__a" != "${__a%/*}" ] && [ ! -d "${__a%/*}/" ]; then
          echo "tee: $__a: No such file or directory" >&2
          __code=1
        else
          __ok+=("$__a")
        fi
        ;;
    esac
  done
  builtin command tee "${__ok[@]}" || __code=1
  return $__code
}

#: umask \bumask\b
umask() {
  builtin umask "$@"
  local __code=$?
  /proc/self/exe umask "$BASH_SUBSHELL" "$(builtin umask)"
  return $__code
}

#: tar \btar\b
tar() {  # Archives that go through a pipe are bytes: for a command written in Python, as base64.
  local __makes=' (--create|-[abd-zABD-Z]*c[a-zA-Z]*) ' __old='^[a-zA-Z]*c[a-zA-Z]*$'
  case " $* " in
    *" - "* | *"f- "* | *=-\ *)
      if [[ " $* " =~ $__makes || "$1" =~ $__old ]]; then
        /proc/self/exe tar "$@" | base64 -d
        return ${PIPESTATUS[0]}
      fi
      base64 -w 0 | /proc/self/exe tar "$@"
      ;;
    " --"* | *" -"*f* | *" --file"* | " "[a-zA-Z]*f* | "  ") /proc/self/exe tar "$@" ;;
    *) builtin command tar "$@" ;;
  esac
}

#: gunzip \bgunzip\b
#: gzip \bgzip\b
gzip() {
  local __a __n=0
  for __a in "$@"; do
    case "$__a" in
      -) __n=0; break ;;
      -*) ;;
      *) __n=1 ;;
    esac
  done
  if [ $__n = 1 ]; then
    /proc/self/exe @NAME@ "$@" | builtin command base64 -d
    return ${PIPESTATUS[0]}
  fi
  builtin command base64 -w 0 | /proc/self/exe @NAME@ "$@" | builtin command base64 -d
  return ${PIPESTATUS[1]}
}

# A shell that nobody types into keeps no history.

#: history \bhistory\b
history() {
  :
}

#: fc \bfc\s+-
fc() {
  echo "bash: line 1: fc: history specification out of range" >&2
  return 1
}

# What there is.

#: compgen \bcompgen\s
compgen() {
  builtin compgen "$@" | /proc/self/exe compgen "$@" -- @NAMES@
}

command() {
  local __a __how=$1 __code=1
  if [ "$__how" != -v ] && [ "$__how" != -V ]; then
    builtin command "$@"
    return
  fi
  shift
  if [ "$1" = -- ]; then shift; fi
  for __a in "$@"; do
    case " @ABSENT@ " in
      *" $__a "*) if [ $__how = -V ]; then echo "bash: line 1: command: $__a: not found" >&2; fi ;;
      *) if builtin command $__how "$__a"; then __code=0; fi ;;
    esac
  done
  return $__code
}

type() {
  local __a __how=() __code=0
  while [ "${1#-}" != "$1" ]; do __how+=("$1"); shift; done
  for __a in "$@"; do
    case " @ABSENT@ " in
      *" $__a "*)
        __code=1
        case "${__how[*]}" in
          *[tpP]*) ;;
          *) echo "bash: line 1: type: $__a: not found" >&2 ;;
        esac
        ;;
      *) if ! builtin type "${__how[@]}" "$__a"; then __code=1; fi ;;
    esac
  done
  return $__code
}

hash() {
  local __a __code=0
  for __a in "$@"; do
    case " @ABSENT@ " in
      *" $__a "*)
        echo "bash: line 1: hash: $__a: not found" >&2
        __code=1
        ;;
      *) if ! builtin hash "$__a"; then __code=1; fi ;;
    esac
  done
  return $__code
}
