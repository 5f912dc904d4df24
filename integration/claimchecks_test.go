package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// checks are what testdata/claims calls, by name. Each says what is wrong. What a sentence asks its
// reader to do without a command, such as to press Ctrl-C, a check does.
var checks = map[string]func(r *reader) string{
	// The tutorial.
	"web serves pages": func(r *reader) string {
		var web struct {
			DNS   string
			Seeds []string
		}
		if err := json.Unmarshal([]byte(tail(r.web.log, 1)), &web); err != nil {
			return err.Error()
		}
		if len(web.Seeds) != 30 || web.DNS != "127.0.0.1:8053" {
			return fmt.Sprintf("%d hosts, names at %s", len(web.Seeds), web.DNS)
		}
		return ""
	},
	"web runs until Ctrl-C": func(r *reader) string {
		select {
		case <-r.web.done:
			return "the web has ended: " + tail(r.web.log, 3)
		default:
			return ""
		}
	},
	"names come from the server": func(r *reader) string {
		// The system knows none of these hosts, whose pages the crawl has fetched.
		if out, err := r.shell("getent hosts h1.sim.test"); err == nil {
			return out
		}
		return ""
	},
	"web outlasts the page": func(r *reader) string {
		var pages int
		var delay time.Duration
		for _, it := range readDocument(r.t, "../docs/tutorial.md") {
			if it.command == nil {
				continue
			}
			if m := regexp.MustCompile(`--pages-per-host (\d+)`).FindStringSubmatch(
				it.command.text); m != nil {
				pages, _ = strconv.Atoi(m[1]) // only digits
			}
			if m := regexp.MustCompile(`CRAWLNODE_DELAY=(\S+)`).FindStringSubmatch(
				it.command.text); m != nil {
				delay, _ = time.ParseDuration(m[1]) // 0 is found below
			}
		}
		if took := time.Duration(pages) * delay; pages != 3000 || took != 25*time.Minute {
			return fmt.Sprintf("%d pages of a host, one in %v, take %v", pages, delay, took)
		}
		return ""
	},
	"own addresses are blocked": func(r *reader) string {
		// A flag takes precedence over a variable; with no value it is as if nothing was allowed.
		out, err := r.shell("crawlnode crawl http://127.0.0.1:8080/ --contact me@example.org" +
			" --allow-net '' --data-dir crawlnode-data/blocked")
		if err == nil || !strings.Contains(out, "--allow-net") {
			return fmt.Sprintf("%v: %s", err, out)
		}
		return ""
	},
	"default delay": func(r *reader) string {
		return r.prints(`(?m)^delay\s*[=:]\s*1s\b`, "env -u CRAWLNODE_DELAY crawlnode config print")
	},
	"20 pages and the end": func(r *reader) string {
		return r.wrote("crawlnode crawl ", `(?m)^pages: 20 in `, `(?m)^ended: max_pages`)
	},
	"40 pages and the end": func(r *reader) string {
		// Each page once, and robots.txt once.
		return r.wrote("crawlnode crawl http://h1.sim.test:8080/ --contact me@example.org --max-pages 40",
			`(?m)^pages: 40 in `, `(?m)^archive: 41 records`, `--max-pages 40 \(was: 20\)`)
	},
	"fetches in order": func(r *reader) string {
		out, err := r.shell("cat crawlnode-data/crawl-h1.sim.test/warc/*.warc.gz | gunzip |" +
			" grep -a '^WARC-Target-URI:' | tr -d '\\r' | uniq")
		// The answer to robots.txt is not kept; the web's last word tells whether it was first.
		first := "WARC-Target-URI: http://h1.sim.test:8080/\n"
		if err != nil || !strings.HasPrefix(out, first) {
			return fmt.Sprintf("%v\n%s", err, out)
		}
		for line := range strings.Lines(out) {
			if !strings.Contains(line, "//h1.sim.test:8080/") {
				return "fetched from another host: " + line
			}
		}
		return ""
	},
	"contact in the user agent": func(r *reader) string {
		return r.prints(`(?mi)^user-agent: .*\(\+me@example\.org\)`, "cat crawlnode-data/crawl-*/"+
			"warc/*.warc.gz | gunzip | grep -ai '^user-agent' | tr -d '\\r'")
	},
	"warc files": func(r *reader) string {
		return r.wrote("ls ", `(?m)\.warc\.gz$`, `(?m)\.cdxj$`)
	},
	"first gossip address": func(r *reader) string {
		return r.inLog("n1", `(?m)^  gossip +127\.0\.0\.1:27296$`)
	},
	"three members": (*reader).threeMembers,
	"ports move by 10": func(r *reader) string {
		return r.inLog("n2", `(?m)^  dashboard +http://127\.0\.0\.1:27305/$`,
			`(?m)^  gossip +127\.0\.0\.1:27306$`, `(?m)^  rpc +127\.0\.0\.1:27307$`)
	},
	"scope of the first node": func(r *reader) string {
		return r.prints(`(?m)^scope=domain$`, "crawlnode crawl-config show --addr 127.0.0.1:27305")
	},
	"all hosts of the domain": func(r *reader) string {
		return r.soon(func() string {
			s := r.status("")
			if s.Frontier.Hosts.Total != 30 {
				return fmt.Sprintf("%d hosts are known", s.Frontier.Hosts.Total)
			}
			return ""
		})
	},
	"dashboard shows nodes": func(r *reader) string {
		// Whoever gets it so runs no script.
		page, err := r.get("127.0.0.1:27295", "/")
		for _, name := range []string{"n1", "n2", "n3", "<svg"} {
			if err != nil || !strings.Contains(page, name) {
				return fmt.Sprintf("%v; the dashboard has no %s", err, name)
			}
		}
		return ""
	},
	"story of a URL": func(r *reader) string {
		r.fetched("http://h1.sim.test:8080/")
		out, err := r.shell("crawlnode urls why http://h1.sim.test:8080/")
		if err != nil {
			return out
		}
		return missing(out, `owned by n\d`, `(?m)^scope +admitted`, `(?m)^robots +allowed`,
			`(?m)\.warc\.gz`)
	},
	"take-over is told": func(r *reader) string { return r.soon(r.toldOfTakeOver) },
	"crawl goes on":     func(r *reader) string { return r.rises() },
	"n3 is back": func(r *reader) string {
		r.ready()
		return r.soon(r.threeMembers)
	},
	"settings on every node": func(r *reader) string {
		return r.onEachNode("crawl-config show", `(?m)^delay=1s$`, `the crawl is running`)
	},
	"status names codes": func(r *reader) string {
		// A code that each status would have at this place, had something been wrong.
		out, err := r.shell("crawlnode explain node_failed")
		if err != nil || !strings.Contains(out, "node_failed") {
			return fmt.Sprintf("%v: %s", err, out)
		}
		return ""
	},
	"explain says what to do": func(r *reader) string {
		for _, code := range []string{"low_disk", "6", "dns", "timeout"} {
			if out, err := r.shell("crawlnode explain " + code); err != nil || len(out) < 80 {
				return fmt.Sprintf("%s: %v: %s", code, err, out)
			}
		}
		return ""
	},
	"ends at the limit": func(r *reader) string {
		return r.soon(func() string {
			out, err := r.shell("crawlnode status")
			if s := r.status(""); s.Crawl.State != "finished" {
				return "the crawl is " + s.Crawl.State
			} else if s.Frontier.Queued == 0 {
				return "the queue is empty: the limit has ended nothing"
			}
			if err != nil {
				return out
			}
			return missing(out, `finished`, `max_pages`)
		})
	},
	"has a queue": func(r *reader) string {
		if s := r.status(""); s.Frontier.Queued == 0 || s.Crawl.State == "finished" {
			return fmt.Sprintf("%s, %d queued: the step comes too late", s.Crawl.State,
				s.Frontier.Queued)
		}
		return ""
	},
	"a line for each page": func(r *reader) string {
		out, err := r.shell(`wc -l <index.cdxj; grep -c 'sim.test' index.cdxj`)
		if err != nil {
			return out
		}
		var lines, ours int
		if _, err := fmt.Sscan(out, &lines, &ours); err != nil || ours < 100 || lines-ours > 1 {
			return fmt.Sprintf("%d lines, %d of this web (%v)", lines, ours, err)
		}
		names, err := r.shell(`grep -o '[^" ]*\.warc\.gz' index.cdxj | sort -u | wc -l`)
		if n, _ := strconv.Atoi(strings.TrimSpace(names)); err != nil || n < 3 {
			return "not from all nodes: " + names
		}
		return ""
	},
	"page is found": func(r *reader) string {
		return r.prints(`page \d+`, "cat page.txt")
	},
	"files of the nodes": func(r *reader) string {
		return r.prints(`(?s)n1/warc/.*n2/warc/.*n3/warc/`, "ls crawlnode-data/*/warc/*.warc.gz*")
	},
	"n3 hands over": func(r *reader) string {
		if code := r.nodes["n3"].exit(r.t, leaveTime); code != 0 {
			return fmt.Sprintf("n3: exit code %d", code)
		}
		return r.inLog("n3", `left the cluster; everything was handed over`)
	},
	"stop n2 and n1": func(r *reader) string {
		r.fetchedBefore = r.status("").Throughput.PagesTotal
		return r.interrupt("n2") + r.interrupt("n1")
	},
	"the last keeps its hosts": func(r *reader) string {
		return r.inLog("n1", `stopping with all data in place`)
	},
	"the crawl has gone on": func(r *reader) string {
		if s := r.status(""); s.Throughput.PagesTotal < r.fetchedBefore {
			return fmt.Sprintf("%d pages, %d before the stop", s.Throughput.PagesTotal,
				r.fetchedBefore)
		}
		return r.rises()
	},
	"stop everything": func(r *reader) string {
		return r.interrupt("n3") + r.interrupt("n2") + r.interrupt("n1")
	},
	"the web's last word": func(r *reader) string {
		if out, err := r.shell(`kill -INT "$(cat web.pid)"`); err != nil {
			return out
		}
		r.web.exit(r.t, leaveTime)
		var report struct{ Pages, SmallestGap, RobotsViolations, LateRobots int64 }
		if err := json.Unmarshal([]byte(tail(r.web.log, 1)), &report); err != nil {
			return err.Error()
		}
		if report.RobotsViolations+report.LateRobots > 0 {
			return "robots.txt was not asked for first, or not obeyed: " + tail(r.web.log, 1)[:400]
		}
		if report.Pages < r.fetchedBefore || report.SmallestGap < int64(500*time.Millisecond) {
			return fmt.Sprintf("%d pages, of which the nodes knew %d before they stopped; gap %v",
				report.Pages, r.fetchedBefore, time.Duration(report.SmallestGap))
		}
		return ""
	},

	// README.md and getting-started.md.
	"the crawl has ended": func(r *reader) string {
		return r.wrote("crawlnode crawl ", `(?m)^ended: (frontier_exhausted|max_pages)`)
	},
	"archive with indexes": func(r *reader) string {
		out, err := r.shell("for f in crawlnode-data/*/warc/*.warc.gz; do" +
			" LC_ALL=C sort -c ${f%.warc.gz}.cdxj; echo $f; done")
		if err != nil || !strings.Contains(out, ".warc.gz") {
			return fmt.Sprintf("%v: %s", err, out)
		}
		return ""
	},
	"a rerun says what changed": func(r *reader) string {
		out, err := r.shell(r.typed("crawlnode crawl ") + " --max-pages 501")
		if err != nil {
			return out
		}
		return missing(out, `changed since the last run:.*--max-pages 501 \(was: 500\)`)
	},
	"a rerun says that it has ended": func(r *reader) string {
		out, err := r.shell(r.typed("crawlnode crawl ") + " --max-pages 501")
		if err != nil {
			return out
		}
		return missing(out, `this crawl (has )?ended`, `--again`)
	},
	"nothing can be fetched": func(r *reader) string {
		// The port is closed. That it takes no longer than 20 seconds, TestWrongUses says.
		out, err := r.shell("crawlnode crawl http://127.0.0.1:8099/ --contact me@example.org" +
			" --allow-net 127.0.0.0/8 --data-dir crawlnode-data/closed ||" +
			" echo exit code $?")
		if err != nil {
			return out
		}
		return missing(out, `connection refused`, `exit code 1\b`)
	},
	"banner adds a node": func(r *reader) string {
		return r.inLog("n2", `(?m)^  dashboard +http://`, `(?m)^  gossip +\S+:\d+$`,
			`(?m)^  rpc +\S+:\d+$`, `(?m)^  add a node +crawlnode --name n\d --join \S+:\d+`)
	},
	"status for programs": func(r *reader) string {
		return r.wrote("curl -s http://127.0.0.1:27295/status", `^\{"api_version"`)
	},
	"a record from any node": func(r *reader) string {
		// FILE and OFFSET as the index has them; the node asked is the second.
		out, err := r.shell(`line=$(grep -m1 '"status": *"200"' index.cdxj)` +
			`; file=$(sed 's/.*"filename": *"\([^"]*\)".*/\1/' <<<"$line")` +
			`; offset=$(sed 's/.*"offset": *"*\([0-9]*\).*/\1/' <<<"$line")` +
			`; curl -s "http://127.0.0.1:27305/api/v1/captures/${file##*/}/$offset" | gunzip`)
		if err != nil {
			return fmt.Sprintf("%v: %s", err, out)
		}
		return missing(out, `^WARC/1\.[01]\r\n`, `WARC-Type: response`)
	},
	"n2 hands over": func(r *reader) string {
		if wrong := r.interrupt("n2"); wrong != "" {
			return wrong
		}
		return r.inLog("n2", `everything was handed over`)
	},
	"n2 starts again": func(r *reader) string {
		r.start("n2", r.typed("crawlnode --name n2"))
		r.ready()
		return r.soon(func() string {
			if s := r.status(""); s.Cluster.Members.Alive != 2 {
				return fmt.Sprintf("%d members are alive", s.Cluster.Members.Alive)
			}
			return ""
		})
	},
	"settings in three ways": func(r *reader) string {
		out, err := r.shell("printf 'max-pages: 7\\n' >seven.yaml" +
			"; crawlnode config print --origin --config seven.yaml" +
			"; CRAWLNODE_MAX_PAGES=8 crawlnode config print --origin; rm seven.yaml")
		if err != nil {
			return out
		}
		return missing(out, `(?m)^max-pages: 7 .*seven\.yaml`,
			`(?m)^max-pages: 8 .*CRAWLNODE_MAX_PAGES`, `(?m)^max-pages-per-host: 0 .*default`)
	},
	"a setting on every node": func(r *reader) string {
		if out, err := r.shell("crawlnode crawl-config set delay=2s"); err != nil {
			return out
		}
		return r.onEachNode("crawl-config show", `(?m)^delay=2s$`)
	},
	"doctor says what it checks": func(r *reader) string {
		// It fails, for nothing listens at port 1; what else it finds depends on the machine.
		out, err := r.shell("crawlnode doctor --join 127.0.0.1:1 || true")
		if err != nil {
			return out
		}
		return missing(out, `(?m)^\w+ +port of --http`, `(?m)^\w+ +open files`,
			`(?m)^\w+ +free space`, `(?m)^\w+ +name server`,
			`(?m)^fail +gossip to 127\.0\.0\.1:1, TCP.*\n +-> start that node`)
	},
	"a key beyond loopback": func(r *reader) string {
		out, err := r.shell("crawlnode --name open --http 0.0.0.0:0")
		if err == nil {
			return "it listens: " + out
		}
		return missing(out, `--cluster-key-file`, `--insecure`)
	},
	"every partition has a copy": func(r *reader) string {
		r.whole()
		return ""
	},
	"private addresses are blocked": func(r *reader) string {
		out, err := r.shell("crawlnode crawl http://10.0.0.1/ --contact me@example.org" +
			" --data-dir crawlnode-data/private || echo exit code $?")
		if err != nil {
			return out
		}
		return missing(out, `10\.0\.0\.1`, `--allow-net`, `exit code 1\b`)
	},
	"the Go of go.mod": func(*reader) string {
		text, err := os.ReadFile("../go.mod")
		if err != nil {
			return err.Error()
		}
		return missing(string(text), `(?m)^go 1\.26(\.|$)`)
	},
	"the program's package": func(*reader) string {
		out, err := exec.Command("go", "list", "-f", "{{.Name}} {{.Target}}",
			"../cmd/crawlnode").CombinedOutput()
		if err != nil {
			return string(out)
		}
		return missing(string(out), `^main .*/crawlnode\n$`)
	},
	"make writes what it says": func(*reader) string {
		// Dry: what would be run, by the parts that make test has.
		out, err := exec.Command("make", "-C", "..", "-n", "build", "raced", "unraced",
			"integrated").CombinedOutput()
		if err != nil {
			return string(out)
		}
		return missing(string(out), `-o \S+/bin/crawlnode `, `gotest race -race `,
			`gotest norace `, `(?m)gotest integration .*\./integration$`)
	},
	"demo without root or internet": func(r *reader) string {
		// The network namespace of the test has no way out. The folder of the binary is the
		// test's own, which nobody else may enter.
		out, err := r.shell(`d=$(mktemp -d); chmod 755 $d; cp "$(command -v crawlnode)" $d` +
			`; trap 'rm -rf $d' EXIT; cd /; env -u CRAWLNODE_DNS -u CRAWLNODE_DELAY` +
			` -u CRAWLNODE_ALLOW_NET -u CRAWLNODE_PARTITIONS -u CRAWLNODE_DRAIN_TIMEOUT` +
			` setpriv --reuid 65534 --regid 65534 --clear-groups $d/crawlnode demo --timeout 5m`)
		if err != nil {
			return fmt.Sprintf("%v: %s", err, out)
		}
		return missing(out, `three nodes on loopback`, `SIGKILL after \d+ pages`, `everything holds`)
	},
	"off until asked for": func(r *reader) string {
		out, err := r.shell("crawlnode config print")
		if err != nil {
			return out
		}
		return missing(out, `(?m)^recrawl: off`, `(?m)^# focus: not set`, `(?m)^render: off`,
			`(?m)^fetch: on`, `(?m)^# frontier-addr: not set`, `(?m)^index: off`,
			`(?m)^# upload: not set`, `(?m)^# sink: not set`, `(?m)^# otlp-endpoint: not set`)
	},
	"a copy of a site": func(r *reader) string {
		// The site of the first crawl lies in the usual directory, without its assets.
		out, err := r.shell(r.named(0) + " --data-dir crawlnode-data/copy && find site -name '*.html'" +
			" | wc -l && grep -rhoE 'href=\"[^\"]*html\"' site | grep -v : | wc -l")
		if err != nil {
			return out
		}
		return missing(out, `(?m)^files: \d+ files in site`, `(?m)\n[1-9]\d+\n[1-9]\d+\n$`)
	},
	"an archive is shown again": func(r *reader) string {
		// Two lists, so that what is killed is the program and not a shell around it.
		out, err := r.shell(r.named(0) + " --data-dir crawlnode-data/kept || exit; " + r.named(1) +
			` >replay.log 2>&1 & trap "kill $!; wait" EXIT` +
			`; for i in $(seq 600); do grep -qs http: replay.log && break; sleep 0.1; done` +
			`; curl -sL "$(grep -o 'http:.*/' replay.log)web/` + r.seed + `"`)
		if err != nil {
			return out
		}
		return missing(out, `page \d+`)
	},
	"a site is searched": func(r *reader) string {
		search := strings.Replace(r.named(1), "WORDS", "page -o json", 1)
		dir := regexp.MustCompile(`--data-dir \S+`)
		out, err := r.shell(r.named(0) + " --data-dir crawlnode-data/indexed >&2 && " +
			dir.ReplaceAllString(search, "--data-dir crawlnode-data/indexed"))
		if err != nil {
			return out
		}
		return missing(out, `"total": *[1-9]`, `sim\.test:\d+/`)
	},
	"a copy is kept fresh": func(r *reader) string {
		r.start("fresh", r.named(0))
		var at struct{ HTTP string }
		r.ready()
		raw, err := os.ReadFile(filepath.Join(r.dir, "crawlnode-data/fresh/addresses.json"))
		if err == nil {
			err = json.Unmarshal(raw, &at)
		}
		if err != nil {
			return err.Error()
		}
		wrong := r.soon(func() string {
			out, err := r.shell("crawlnode urls why " + r.seed + " --addr " + at.HTTP)
			if err != nil {
				return out
			}
			return missing(out, `(?m)^next visit +2`)
		})
		return wrong + r.interrupt("fresh")
	},
	"a stored page is not fetched again": func(r *reader) string {
		out, err := r.shell(r.typed("crawlnode crawl ") + " --assets")
		if err != nil {
			return out
		}
		return missing(out, `this crawl (has )?ended`, `0 queued`)
	},
	"n3 is killed and taken over": func(r *reader) string {
		r.whole()
		out, err := r.shell(`kill -9 "$(cat crawlnode-data/n3/pid)"`)
		if err != nil {
			return out
		}
		return r.soon(r.toldOfTakeOver)
	},
}

// toldOfTakeOver looks at what the status says after n3 was killed.
func (r *reader) toldOfTakeOver() string {
	out, err := r.shell("crawlnode status")
	if err != nil {
		return out
	}
	return missing(out, `node_failed.*n3`, `taken over in`)
}

// threeMembers asks three nodes of the usual ports.
func (r *reader) threeMembers() string {
	for _, port := range []string{"27295", "27305", "27315"} {
		if s := r.status("127.0.0.1:" + port); s.Cluster.Members.Alive != 3 {
			return fmt.Sprintf("port %s: %d members are alive", port, s.Cluster.Members.Alive)
		}
	}
	return ""
}

// shell runs a line that the document does not have, where its commands run.
func (r *reader) shell(text string) (out string, err error) {
	argv := r.argv(text)
	b, err := exec.CommandContext(r.t.Context(), argv[0], argv[1:]...).CombinedOutput()
	return string(b), err
}

// named is a command of the sentence that is read.
func (r *reader) named(i int) string {
	var commands []string
	for _, m := range regexp.MustCompile("`(crawlnode [^`]+)`").FindAllStringSubmatch(r.reading, -1) {
		commands = append(commands, r.placed(m[1]))
	}
	if i >= len(commands) {
		r.t.Fatalf("%d commands in %q", len(commands), r.reading)
	}
	return commands[i]
}

// typed is the last command that began so, as it was typed.
func (r *reader) typed(prefix string) string {
	for _, line := range slices.Backward(r.lines) {
		if strings.HasPrefix(line, prefix) {
			return line
		}
	}
	r.t.Fatalf("no command %q was typed", prefix)
	return ""
}

// missing names the first pattern that a text does not match.
func missing(text string, patterns ...string) string {
	for _, p := range patterns {
		if !regexp.MustCompile(p).MatchString(text) {
			return fmt.Sprintf("no %s in\n%s", p, text)
		}
	}
	return ""
}

func (r *reader) prints(pattern, command string) string {
	out, err := r.shell(command)
	if err != nil {
		return fmt.Sprintf("%s: %v\n%s", command, err, out)
	}
	return missing(out, pattern)
}

// wrote looks into what the document's own command has printed, the last time.
func (r *reader) wrote(command string, patterns ...string) string {
	for _, u := range slices.Backward(r.said) {
		if strings.HasPrefix(u.command, command) {
			return missing(u.out, patterns...)
		}
	}
	return "no such command has run: " + command
}

func (r *reader) inLog(node string, patterns ...string) string {
	return r.soon(func() string {
		text, err := os.ReadFile(r.nodes[node].log)
		if err != nil {
			return err.Error()
		}
		return missing(string(text), patterns...)
	})
}

// soon waits until nothing is missing, and says what it was when that has taken too long.
func (r *reader) soon(cond func() string) string {
	for deadline := time.Now().Add(slack(time.Minute)); ; time.Sleep(100 * time.Millisecond) {
		if missing := cond(); missing == "" || time.Now().After(deadline) {
			return missing
		}
	}
}

// status asks a node; "" is the usual one.
func (r *reader) status(addr string) (s status) {
	command := "crawlnode status -o json"
	if addr != "" {
		command += " --addr " + addr
	}
	out, err := r.shell(command)
	if err == nil {
		err = json.Unmarshal([]byte(out), &s)
	}
	if err != nil {
		r.t.Errorf("%s: %v\n%s", command, err, out)
	}
	return s
}

// rises waits until more pages are fetched.
func (r *reader) rises() string {
	before := r.status("").Throughput.PagesTotal
	return r.soon(func() string {
		if s := r.status(""); s.Throughput.PagesTotal <= before {
			return fmt.Sprintf("no page after %d is fetched: the crawl is %s", before, s.Crawl.State)
		}
		return ""
	})
}

func (r *reader) onEachNode(verb string, patterns ...string) string {
	for name, node := range r.nodes {
		select {
		case <-node.done: // it was killed
			continue
		default:
		}
		addr := "$(sed 's/.*\"http\":\"\\([^\"]*\\).*/\\1/' crawlnode-data/" + name + "/addresses.json)"
		out, err := r.shell("crawlnode " + verb + " --addr " + addr)
		if err != nil {
			return name + ": " + out
		}
		if wrong := missing(out, patterns...); wrong != "" {
			return name + ": " + wrong
		}
	}
	return ""
}

// get is what a browser would get.
func (r *reader) get(addr, path string) (string, error) {
	host, port, _ := strings.Cut(addr, ":")
	return r.shell(fmt.Sprintf("exec 3<>/dev/tcp/%s/%s; printf 'GET %s HTTP/1.0\\r\\nHost: %s\\r\\n"+
		"Accept: text/html\\r\\n\\r\\n' >&3; cat <&3", host, port, path, addr))
}

// interrupt presses Ctrl-C at a node.
func (r *reader) interrupt(name string) string {
	pid := tail(filepath.Join(r.dir, "crawlnode-data", name, "pid"), 1)
	if out, err := r.shell("kill -INT " + pid); err != nil {
		return name + ": " + out
	}
	if code := r.nodes[name].exit(r.t, leaveTime); code != 0 {
		return fmt.Sprintf("%s: exit code %d; ", name, code)
	}
	return ""
}
