"""Programs that the shell does not have: files of the world, and names that look installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from posixpath import relpath

from agentworld_sim.engines.shell.live_files import LiveFiles
from agentworld_sim.types.files import FileTree, normal_path

SHELLS = frozenset({"bash", "dash", "rbash", "sh"})
"""Interpreters whose scripts the shell runs."""

PROGRAM_FOLDERS = ("/bin", "/sbin", "/usr/bin", "/usr/local/bin", "/usr/local/sbin", "/usr/sbin")
"""Where a program that is called by its whole path may be imagined although no file is there."""

_MACHINE_CODE = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\0asm")


@dataclass(frozen=True, slots=True)
class Program:
    """An executable file."""

    path: str
    interpreter: tuple[str, ...] | None
    """Words of its first line, the interpreter without its folder; `None` for a shell script or a
    text without such a line; empty for machine code."""
    line: str = ""
    """The interpreter as written, for example `/usr/bin/env`."""


def program_at(path: str, files: LiveFiles) -> Program | None:
    """The world's executable file at `path`; `None` for anything else, the system's included."""
    try:
        real = files.realpath(path)
        if real.startswith(("/usr/bin/", "/dev/", "/proc/")):
            return None
        stat = files.lstat(real)
        if stat.kind != "file" or not stat.mode & 0o111:
            return None
        data = files.read(real)
    except OSError:
        return None
    return Program(path, *_interpreter(data))


def _interpreter(data: bytes) -> tuple[tuple[str, ...] | None, str]:
    if data.startswith(_MACHINE_CODE) or b"\0" in data[:1_024]:
        return (), ""
    if not data.startswith(b"#!"):
        return None, ""
    words = data[2:512].partition(b"\n")[0].decode("utf-8", "replace").split()
    if not words:
        return None, ""
    line, words = words[0], [words[0].rpartition("/")[2], *words[1:]]
    if words[0] == "env":
        words = words[1:]
        while words and (words[0].startswith("-") or "=" in words[0]):
            words.pop(0)
        words[:1] = [word.rpartition("/")[2] for word in words[:1]]
    if not words or words[0] in SHELLS:
        return None, line
    return tuple(words), line


def in_path(name: str, env: Mapping[str, str], cwd: str, files: LiveFiles) -> Program | None:
    """The world's own program that `name` finds on the search path."""
    for folder in env.get("PATH", "").split(":"):
        full = folder if folder.startswith("/") else normal_path(f"{cwd}/{folder}")
        if full not in ("/bin", "/usr/bin", "/sbin"):
            found = program_at(f"{full.rstrip('/')}/{name}", files)
            if found is not None:
                return found
    return None


def executables(tree: FileTree) -> Iterable[str]:
    """The world's executable files."""
    return (path for path, entry in tree.items() if entry.kind == "file" and entry.mode & 0o111)


def names_of(path: str, folders: Sequence[str]) -> Iterable[str]:
    """How a script that stands in one of `folders` may call the program at `path`."""
    yield path
    for folder in folders:
        rest = relpath(path, folder)
        if not rest.startswith(".."):
            yield f"./{rest}"
        if "/" in rest:
            yield rest


_NAMES = """
git gh glab svn hg bzr cvs git-lfs pre-commit tig lazygit
python python2 python3 python3.10 python3.11 python3.12 python3.13 pip pip3 pipx poetry pdm uv uvx
conda mamba virtualenv pyenv pytest tox nox ruff black isort flake8 pylint mypy pyright bandit
coverage ipython jupyter django-admin flask gunicorn uvicorn celery alembic scrapy
node nodejs npm npx yarn pnpm bun deno corepack nvm tsc ts-node tsx eslint prettier jest vitest mocha
webpack vite rollup esbuild next nuxt ng vue nodemon pm2 serve playwright cypress
java javac jar jshell mvn gradle ant kotlin kotlinc scala scalac sbt groovy clojure lein
gcc g++ cc c++ clang clang++ clang-format clang-tidy cpp ld ar as nm objdump objcopy ranlib readelf
strip size gdb lldb valgrind strace ltrace perf cmake ctest cpack ninja meson autoconf automake
autoreconf aclocal libtool pkg-config m4 bison flex bazel scons ccache
cargo rustc rustup rustfmt clippy-driver go gofmt golangci-lint gopls zig nim ghc cabal stack ocaml
opam dune elixir mix iex erl rebar3 swift swiftc dotnet mono mcs csc nuget
perl perl5 cpan cpanm prove ruby gem bundle bundler rake irb rails rspec rubocop
php composer artisan phpunit lua luajit luarocks R Rscript julia octave gnuplot tclsh wish guile racket
sbcl clisp swipl prolog
docker docker-compose dockerd podman buildah skopeo containerd ctr crictl nerdctl
kubectl helm kustomize minikube kind k3s k9s kubeadm istioctl argocd flux oc skaffold
terraform tofu terragrunt packer vault consul nomad ansible ansible-playbook ansible-galaxy
ansible-vault pulumi vagrant chef puppet salt
aws gcloud gsutil bq az doctl heroku fly flyctl vercel netlify wrangler firebase supabase s3cmd
curl wget aria2c http https httpie xh ab wrk hey siege k6 vegeta nmap nc ncat netcat socat telnet
ftp sftp ssh scp ssh-keygen ssh-agent ssh-add ssh-copy-id sshd rsync mosh autossh ping ping6
traceroute tracepath mtr dig nslookup host whois ip ifconfig route arp netstat ss ethtool iptables
ip6tables nft ufw tcpdump tshark iperf3 brctl nmcli
psql pg_dump pg_restore pg_ctl createdb dropdb postgres mysql mysqldump mysqladmin mariadb sqlite3
redis-cli redis-server mongo mongosh mongodump mongoimport mongod cqlsh influx clickhouse-client
duckdb etcdctl rabbitmqctl kafka-topics.sh
systemctl journalctl service loginctl timedatectl hostnamectl update-rc.d systemd-analyze crontab at
atq batch supervisorctl supervisord runit initctl
vim vi nvim nano emacs ed ex micro code tmux screen man info apropos whatis tldr
yum dnf rpm apk pacman zypper brew snap flatpak aptitude dpkg-deb dpkg-reconfigure
useradd userdel usermod groupadd groupdel groupmod adduser deluser addgroup delgroup passwd chpasswd
chsh chfn visudo su newgrp
fdisk parted mkfs mkfs.ext4 mke2fs fsck umount losetup blkid lsof fuser iostat vmstat mpstat sar iotop
htop btop dstat lspci lsusb lsmod modprobe insmod rmmod sysctl dmidecode swapon swapoff mkswap
smartctl hdparm stty tput top w last lscpu lsblk dmesg mount whereis bc csplit dpkg dpkg-query apt-cache
nginx apache2 apache2ctl a2ensite a2dissite httpd caddy haproxy traefik certbot
gpg gpg2 age sops pass keytool ssh-keyscan
ffmpeg ffprobe convert magick identify mogrify exiftool sox inkscape pandoc pdflatex xelatex latexmk
bibtex tex latex pdftotext pdfinfo qpdf gs dot wkhtmltopdf tesseract
xz unxz xzcat zstd unzstd zstdcat lz4 lzma 7z 7za p7zip rar unrar cpio pigz pbzip2 lzip
ag ack fd fdfind fzf bat exa eza delta difft colordiff vimdiff sdiff diff3 yq xmllint xsltproc
xmlstarlet hyperfine tokei cloc sloccount shellcheck shfmt hadolint yamllint jsonlint markdownlint
actionlint ctags cscope entr watchexec direnv parallel pv uuidgen busybox expect script dialog
whiptail figlet cowsay fortune sl lolcat neofetch jo mlr csvcut csvstat in2csv dos2unix
unix2dos recode uchardet rename mmv inotifywait dbus-send xdg-open xclip xsel
nvidia-smi nvcc huggingface-cli hf ollama vllm torchrun accelerate wandb mlflow dvc ray tensorboard
airflow dbt spark-submit pyspark hadoop hdfs hive beeline
sendmail mail mailx mutt msmtp
protoc buf grpcurl thrift swagger openapi-generator
""".split()

UNINSTALLED: frozenset[str] = frozenset(_NAMES)
"""Names of programs that agents commonly call and that the shell engine does not have."""
