"""Sessions with sqlite3 and openssl, and what the programs of a Debian 12 machine answer.

`python -m tests.machine.tool_sessions` records the answers anew beside this file, where both are installed.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from tests.engines.shell.real_tools import RealMachine

RECORDED = Path(__file__).with_name("tool_sessions.json")

SESSIONS = {
    "sqlite3": (
        'sqlite3 new.db ".tables"; wc -c new.db; sqlite3 n3.db </dev/null; ls n3.db',
        "sqlite3 t.db \"create table t(a integer primary key, b text, c real); insert into t values(1,'x',1.5),(2,null,1e20),(3,'it''s \\\"q\\\" , z',0.1); create view v as select a from t; create index i on t(b); create table \\\"odd name\\\"(x); insert into \\\"odd name\\\" values(x'00ff')\"; echo $?",
        'for m in list column csv json line quote tabs table box markdown; do echo "== $m"; sqlite3 -header t.db ".mode $m" "select * from t"; sqlite3 t.db ".mode $m" "select * from t" "select 1 where 0"; done',
        'for m in list column csv json line quote tabs table box markdown; do echo "== $m"; sqlite3 -$m t.db "select * from t; select a from t where a<2"; done',
        "sqlite3 t.db .tables .schema .dump .indexes",
        'sqlite3 t.db "selec 1"; echo $?',
        'sqlite3 t.db "select 1; insert into t values(1,2,3); select 2"; echo $?',
        'sqlite3 t.db "select nope from t"; sqlite3 t.db "select * from nope"; sqlite3 t.db "select t.nope from t"; sqlite3 t.db "insert into nope values(1)"; sqlite3 t.db "insert into t values(1)"',
        "printf 'select 1;\\nselec 2;\\ninsert into t values(1,2,3);\\nselect nope,\\n a from t;\\n.foo\\nselect 3' | sqlite3 t.db; echo $?",
        'sqlite3 nodir/x.db "select 1"; echo $?; mkdir d; sqlite3 d .tables; echo $?',
        'echo junkjunkjunkjunk > j; sqlite3 j "select * from a"; echo $?; cat j',
        "sqlite3 -bogus; echo $?",
        "sqlite3 -csv t.db \"select 'a b','é','x''y','', 'p-q'\"",
        'printf \'a,b\\n1,x\\n2,"y z"\\n3\\n\' > f.csv; sqlite3 i.db ".mode csv" ".import f.csv imp" ".schema" "select * from imp"; sqlite3 i.db ".import --csv --skip 1 f.csv imp" "select count(*) from imp"; sqlite3 i.db ".import nope.csv x"; sqlite3 i.db ".read nope"; sqlite3 i.db ".mode bogus"; sqlite3 i.db ".headers"',
        'sqlite3 t.db "select (1" ; sqlite3 t.db "select foo(1)"; sqlite3 t.db "select \'abc"; sqlite3 t.db "select a, from from t"',
        'sqlite3 t.db ".schema nope" ".tables t%" ".indexes t" ".schema t"',
        'sqlite3 t.db "select 1 where 0; pragma journal_mode; pragma table_info(t); .tables"',
        'sqlite3 -line t.db "select 1 as a, 2 as bbbbbbbb"; echo ".quit 3" | sqlite3 ; echo $?',
        "sqlite3 t.db <<'EOF'\n.headers on\n.mode column\nselect * from t;\n.nullvalue NULL\n.separator ;\n.mode list\nselect * from t;\n-- a comment\ncreate trigger tr after insert on t begin select 1; select 2; end;\ninsert into t(b) values('multi\nline');\nselect count(*) from t;\n.schema t\nEOF",
        'sqlite3 t.db .dump | sqlite3 copy.db; sqlite3 copy.db "select count(*) from t" .tables; sqlite3 copy.db .dump > c1; sqlite3 t.db .dump | cmp - c1',
        'sqlite3 t.db ".output o.txt" "select 1" ".output" "select 2"; cat o.txt; ',
        'echo "create table z(q); insert into z values(5);" > z.sql; sqlite3 z.db ".read z.sql" "select * from z"; sqlite3 z.db < z.sql; echo $?',
        "sqlite3 z.db \"attach 't.db' as o; select count(*) from o.t; create table o.made(x); .tables\"; sqlite3 t.db .tables",
        "sqlite3 z.db \"attach 't.db' as o; select count(*) from o.t; create table o.made(x)\"; sqlite3 t.db .tables",
        'sqlite3 z.db "pragma journal_mode=wal; insert into z values(6); pragma journal_mode=delete; select * from z"',
        'sqlite3 -readonly z.db "insert into z values(7)"; echo $?',
        'sqlite3 z.db "begin; insert into z values(8); rollback; select count(*) from z"; sqlite3 z.db "begin; insert into z values(9)"; sqlite3 z.db "select count(*) from z"',
        "sqlite3 z.db \"vacuum; create table au(id integer primary key autoincrement, d text default 'x' not null unique); insert into au(d) values('a'),('b'); select last_insert_rowid(), changes(); insert into au(d) values('a')\"; sqlite3 z.db .dump",
        'sqlite3 z.db "select 1.0, 1e-7, 123456789012345678, 1.0/3, 9e999, -0.0, 100000000000000000000, 1e15, 1e16"; sqlite3 -json z.db "select 1.0/3 as a, \'é\\"\\\\\' as b, char(10) as c, x\'61\' as d"',
        'sqlite3 :memory: "with recursive c(x) as (select 1 union all select x+1 from c where x<5) select group_concat(x, \'-\') from c"; sqlite3 "" "select upper(\'a\')||typeof(1)"',
        'sqlite3 z.db "select * from z where q=1 order by 1 limit 2" -header; echo $?',
        "sqlite3 -header -column z.db \"select q as 'A long name', q+1 b from z limit 2\"; sqlite3 -separator ';' -nullvalue N z.db \"select 1,null\"; sqlite3 -cmd '.mode csv' -header z.db \"select 1 as a, 2 as b\"",
        'echo "select 1;;select 2" | sqlite3; echo "   " | sqlite3',
        'sqlite3 z.db "insert into z values(1),(2),(3);select count(*) from z where q in (select q from z group by q having count(*)>1)"',
        'sqlite3 z.db "create table if not exists k(a,b,primary key(a,b)) without rowid; create index if not exists kk on k(b); insert or replace into k values(1,2) on conflict do nothing; select * from k"; sqlite3 z.db "update nope set a=1"; sqlite3 z.db "drop table nope"; sqlite3 z.db "create table z(q)"; sqlite3 z.db "select max(1,2,,3)"; sqlite3 z.db "select count(q,q) from z"',
        "echo \"create table log(id integer primary key, ts text default current_timestamp, r integer default (abs(random())%5)); insert into log(id) values(1); select length(ts), r between 0 and 4, date('now')=substr(ts,1,10), strftime('%Y','2024-02-03'), datetime(0,'unixepoch'), date('2024-01-31','+1 month') from log;\" | sqlite3 l.db",
        "sqlite3 l.db \"select datetime('2024-01-01 10:00','localtime'), julianday('2000-01-01'), unixepoch('2000-01-01'), time('12:34'), strftime('%s','2000-01-01')\"",
        "printf 'x;y\\n1;2\\n' > s.csv; sqlite3 l.db -cmd \".separator ;\" \".import s.csv sx\" \"select * from sx\" \".dump sx\"; printf 'create virtual table ft using fts5(t); insert into ft values('\"'\"'hello world'\"'\"'); select * from ft where ft match '\"'\"'world'\"'\"';' | sqlite3 l.db; sqlite3 l.db .tables",
        'sqlite3 l.db "select 1" "select 2"; echo $?; sqlite3 l.db "select * from sqlite_master where name=\'sx\'"; sqlite3 l.db "pragma integrity_check; pragma user_version=7; pragma user_version; pragma page_size; pragma foreign_keys"',
        'sqlite3 "file name.db" "create table a(b)"; ls; sqlite3 -json l.db "select * from sx"; sqlite3 -json l.db "select * from sx where 0"',
        'sqlite3 l.db "select a.x, b.nope from sx a join sx b"; sqlite3 l.db "select x from sx a, sx b"; sqlite3 l.db "select substr(x) from sx"; sqlite3 l.db "insert into sx values(1,2,3)"; sqlite3 l.db "insert into sx(q) values(1)"; sqlite3 l.db "alter table sx add column x"; sqlite3 l.db "select * fom sx where x = 1 and y = 2 and x = 1 and y = 2 and x = 1 and y = 2 and x = 1"; sqlite3 l.db "create index ii on nope(x)"; sqlite3 l.db "select * from sx where x = 1 and y = 2 and x = 1 and y = 2 and x = 1 and y = 2 grup by x = 1"',
    ),
    "openssl": (
        "printf hello > h; printf 'a,b\\n1,x\\n' > f.csv; echo aGVsbG8= > e; mkdir d",
        'for c in "dgst h" "dgst -sha256 h f.csv" "sha1 h" "md5 -r h" "dgst -r -sha512 h" "dgst -sha256 -hmac key h" "dgst -sha256 -hex h" "dgst -c -md5 h" "dgst -sha3-256 h" "blake2b512 h" "dgst -sha224 -out o h" "bogus" "rand" "rand -hex x" "rand -bogus 3" "enc -base64 -in h" "base64 -in h" "base64 -d -in h" "base64 -d -in e" "base64 -A -in f.csv" "sha384 h" "enc -d -base64 -in h" "dgst -sha256" "sha256 -hmac k" "dgst -hmac k h"; do echo "== $c"; openssl $c </dev/null; done; cat o',
        "printf hello | openssl dgst -sha256; printf hello | openssl sha256 -r; printf 'hel\\377lo\\0' | openssl md5; echo aGVsbG8= | openssl base64 -d; echo; openssl rand -hex 4 | wc -c; openssl rand -base64 60 | wc; openssl rand 5 | wc -c",
        'openssl enc -base64 -d <<< "aGVsbG8"; echo "[$?]"; openssl base64 -d -A <<< "aGVsbG8="; echo "[$?]"; head -c 100 f.csv | openssl base64; seq 50 | openssl base64 | openssl base64 -d | tail -1; openssl rand -out r -hex 3; stat -c \'%a %s\' r',
        "openssl dgst -sha256 nope 2>&1 | head -1; openssl base64 -in nope 2>&1 | head -1; openssl dgst -sha256 h | awk '{print $2}'; openssl sha256 h f.csv | openssl sha1",
        "openssl dgst -bogus h 2>&1 | head -2",
        "openssl sha256 -binary h | xxd | head -1",
    ),
    "sqlite3 of an application": (
        "sqlite3 app.db \"CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, email TEXT UNIQUE NOT NULL, created_at DATETIME DEFAULT '2024-01-01'); INSERT INTO users (email) VALUES ('a@x'), ('b@x'); SELECT * FROM users;\"",
        'sqlite3 app.db ".tables" && sqlite3 app.db ".schema users"',
        'sqlite3 app.db "SELECT COUNT(*) FROM users;"',
        'sqlite3 -header -column app.db "SELECT id, email FROM users ORDER BY id DESC LIMIT 1"',
        "sqlite3 app.db \"INSERT INTO users (email) VALUES ('a@x')\"; echo rc=$?",
        'sqlite3 app.db "PRAGMA table_info(users);"',
        'sqlite3 app.db ".headers on" ".mode csv" "SELECT * FROM users" > out.csv; cat out.csv',
        "sqlite3 app.db <<'EOF'\n.mode column\n.headers on\nCREATE TABLE posts(id INTEGER PRIMARY KEY, uid INT REFERENCES users(id) ON DELETE CASCADE, body TEXT);\nINSERT INTO posts(uid, body) VALUES (1,'hello'),(1,'wörld'),(2,NULL);\nSELECT u.email, COUNT(p.id) AS n FROM users u LEFT JOIN posts p ON p.uid=u.id GROUP BY u.id HAVING n > 0;\nEOF",
        "sqlite3 app.db \"EXPLAIN QUERY PLAN SELECT * FROM users WHERE email='a@x'\"",
        "sqlite3 app.db .dump",
        'sqlite3 app.db ".schema"',
        "sqlite3 -json app.db \"SELECT id, body FROM posts\" | jq -r '.[].body'",
        "sqlite3 app.db \"SELECT name FROM sqlite_master WHERE type='table' ORDER BY name\"",
        'sqlite3 app.db "DELETE FROM users WHERE id=1; SELECT changes(), total_changes()" ',
        'sqlite3 app.db "PRAGMA foreign_keys=ON; DELETE FROM users WHERE id=2; SELECT count(*) FROM posts"',
        "sqlite3 app.db \"SELECT json_extract('{\\\"a\\\":[1,2]}', '$.a[1]'), json_group_array(id) FROM posts\"",
        "sqlite3 app.db \"SELECT printf('%05.2f|%s', 3.14159, 'x'), substr('hello', 2, 3), instr('abc','c'), replace('aXb','X','-'), coalesce(NULL, 5), 7/2, 7%3, 'a'||1\"",
        "sqlite3 app.db \"SELECT strftime('%Y-%m', '2024-05-06'), date('2024-02-28', '+2 days'), julianday('2024-01-01')\"",
        'sqlite3 app.db "WITH t AS (SELECT id, ROW_NUMBER() OVER (ORDER BY id DESC) r FROM posts) SELECT * FROM t"',
        'sqlite3 nofile.db "SELECT * FROM x"; echo rc=$?; ls nofile.db',
        'sqlite3 app.db "UPDATE posts SET body = upper(body) WHERE id IN (SELECT id FROM posts LIMIT 1) RETURNING *"',
        'printf \'name,age\\nAda,36\\nBob,40\\n\' > p.csv; sqlite3 app.db -cmd ".mode csv" ".import p.csv people" && sqlite3 app.db "SELECT avg(age), typeof(age) FROM people"',
        'for t in $(sqlite3 app.db .tables); do echo "$t: $(sqlite3 app.db "select count(*) from $t")"; done',
        "sqlite3 app.db \"BEGIN; INSERT INTO people VALUES('C', 1); COMMIT; VACUUM; PRAGMA integrity_check;\"",
        'sqlite3 app.db ".mode markdown" "select * from people" ; sqlite3 -table app.db "select 1 as one"; sqlite3 app.db ".width 5" "select 1"',
        'echo ".tables\nselect * from people where age > 38;\n.exit" | sqlite3 app.db; sqlite3 app.db \'select "people"."name" from people where name like "%d%"; drop table people; alter table posts rename to notes; select sql from sqlite_master where name=\\\'notes\\\'\'; echo rc=$?',
    ),
    "openssl of scripts": (
        'echo -n "secret" | openssl dgst -sha256',
        "echo -n \"secret\" | openssl sha1 | awk '{print $2}'",
        "printf 'abc' > f.txt; openssl md5 f.txt; openssl dgst -sha512 -r f.txt | cut -c1-20",
        "openssl base64 -in f.txt; echo YWJj | openssl enc -d -base64",
        'echo -n data | openssl dgst -sha256 -hmac "key" -binary | base64',
        "openssl rand -hex 16 | wc -c; openssl rand -base64 12 | wc -c",
    ),
}


def record() -> None:
    found: dict[str, list[tuple[str, str, str, int]]] = {}
    for name, commands in SESSIONS.items():
        with tempfile.TemporaryDirectory() as folder:
            real = RealMachine(Path(folder))
            answers = [(command, real(command)) for command in commands]
            found[name] = [(command, out, err, code) for command, (out, err, code) in answers]
    RECORDED.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    record()
