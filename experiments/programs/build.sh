#!/bin/bash
# Builds Debian's mawk for WASI into build/programs, with Debian's own compiler; nothing is installed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd) place=${1:-build/programs}
mkdir -p "$place/debs" "$place/lists/partial"
cd "$place"
place=$PWD
sed 's/^Types:.*/Types: deb-src/' /etc/apt/sources.list.d/debian.sources > debian.sources  # Debian 12's own list, for sources
apt=(-o "Dir::Etc::sourcelist=$place/debian.sources" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$place/lists")
(cd debs && apt-get download clang-14 libclang1-14 libclang-common-14-dev lld-14 wasi-libc libclang-rt-14-dev-wasm32)
for deb in debs/*.deb; do dpkg -x "$deb" tools; done
apt-get "${apt[@]}" -qq update
apt-get "${apt[@]}" -qq source --download-only mawk
rm -rf source && mkdir source && tar -xzf mawk_*.orig.tar.gz -C source --strip-components=1
cat > compiler <<END
#!/bin/bash
more=; for word in "\$@"; do [ "\$word" = -c ] && more="-include unix_stubs.h"; done
exec $place/tools/usr/lib/llvm-14/bin/clang --target=wasm32-wasi --sysroot=$place/tools/usr \\
  -isystem $place/tools/usr/include/wasm32-wasi -resource-dir=$place/tools/usr/lib/llvm-14/lib/clang/14.0.6 \\
  -fuse-ld=$place/tools/usr/bin/wasm-ld-14 -L$place/tools/usr/lib/wasm32-wasi -O2 -w -I$here/stubs \\
  -D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_PROCESS_CLOCKS -D_WASI_EMULATED_GETPID \$more "\$@"
END
chmod +x compiler
./compiler -c "$here/stubs/start_folder.c" -o start_folder.o
libraries="$place/start_folder.o -lwasi-emulated-signal -lwasi-emulated-process-clocks -lwasi-emulated-getpid -lm"
cd source
CC=$place/compiler ./configure -q --host=wasm32-wasi --with-builtin-srand --disable-init-srand BUILD_CC=cc \
  LIBS="${libraries#* }" ac_cv_func_fork=no
make -s LIBS="$libraries"
cp mawk "$place/mawk.wasm"
