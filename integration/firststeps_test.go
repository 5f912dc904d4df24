package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"crawlnode/simweb"
)

// tutorial types the first steps of getting-started.md into a shell, in an empty directory.
type tutorial struct {
	t        *testing.T
	dir      string
	wrap     []string // the command that enters a network in which the usual ports are free
	env      []string
	replace  *strings.Replacer // what is elsewhere in a test
	commands int
	nodes    map[string]*process
}

// firstCommands are the command lines of the first five minutes.
func firstCommands(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", "getting-started.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, ok := strings.Cut(string(text), "## The first five minutes\n")
	if !ok {
		t.Fatal("getting-started.md has no first five minutes")
	}
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	var lines []string
	for line := range strings.Lines(chapter) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			command, _, _ = strings.Cut(command, " # ")
			lines = append(lines, strings.TrimSpace(command))
		}
	}
	return lines
}

// command is a line for a shell in the folder and the network.
func (s *tutorial) command(line string) *exec.Cmd {
	argv := append(slices.Clone(s.wrap), "bash", "-c", line)
	cmd := exec.CommandContext(s.t.Context(), argv[0], argv[1:]...) //nolint:gosec // the test's own
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), s.env...)
	return cmd
}

// shell runs a line to its end and returns what it printed.
func (s *tutorial) shell(line string) string {
	s.t.Helper()
	s.commands++
	out, err := s.command(s.replace.Replace(line)).CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// start runs the line of a node in a terminal of its own.
func (s *tutorial) start(name, line string) {
	s.t.Helper()
	s.commands++
	argv := append(append(slices.Clone(s.wrap), "env"), s.env...)
	s.nodes[name] = spawn(s.t, name, filepath.Join(s.dir, name+".log"),
		append(argv, "bash", "-c", "cd '"+s.dir+"' && exec "+s.replace.Replace(line))...)
}

// printed waits for a line of a node's banner.
func (s *tutorial) printed(name, label string) (rest string) {
	s.t.Helper()
	row := regexp.MustCompile(`(?m)^  ` + label + ` +(.*)$`)
	until(s.t, 20*time.Second, func() string {
		text, _ := os.ReadFile(s.nodes[name].log) // not there yet is not printed yet
		if m := row.FindSubmatch(text); m != nil {
			rest = string(m[1])
			return ""
		}
		return fmt.Sprintf("%s has not printed %q:\n%s", name, label, text)
	})
	return rest
}

// TestFirstSteps runs getting-started.md as it stands, with a synthetic web instead of the real one
// and a network of its own, in which the usual ports are free. The second node is started by the
// line that the first one prints, and in the place of the killed node comes a fourth.
func TestFirstSteps(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	l := newLab(t)
	web, srv := serveSimwebAt(t, l.net+"1:0",
		simweb.Config{Seed: 11, Hosts: 12, PagesPerHost: 40, Skew: -1,
			Delay: 20 * time.Millisecond})
	addr := func(offset int) string { return fmt.Sprint("127.0.0.1:", 27295+offset) }
	s := &tutorial{t: t, dir: t.TempDir(), nodes: map[string]*process{}}
	s.wrap = []string{"ip", "netns", "exec", l.space(l.add())}
	s.env = []string{"PATH=" + filepath.Dir(binary(t)) + ":" + os.Getenv("PATH"),
		"CRAWLNODE_DNS=" + srv.DNS.String(), "CRAWLNODE_ALLOW_NET=" + l.net + "0/24",
		"CRAWLNODE_DELAY=20ms",
		"CRAWLNODE_PARTITIONS=512", "CRAWLNODE_DRAIN_TIMEOUT=" + drainTime.String()}
	seeds := strings.Join(web.Seeds(), " ")
	s.replace = strings.NewReplacer("https://docs.example.org/", web.Seeds()[0])
	lines := firstCommands(t)
	take := func(prefix string) string { // the next line that begins so
		for i, line := range lines {
			if strings.HasPrefix(line, prefix) {
				lines = lines[i+1:]
				return line
			}
		}
		t.Fatalf("getting-started.md has no further line %q...", prefix)
		return ""
	}

	began := time.Now()
	crawl := take("crawlnode crawl ")
	ended := make(chan string, 1)
	go func() { ended <- s.crawl(crawl) }()
	atPage(t, web, 1)
	toFirstPage := time.Since(began)
	if out := <-ended; !strings.Contains(out, "ended: frontier_exhausted") &&
		!strings.Contains(out, "ended: max_pages") {
		t.Errorf("the crawl of one site says\n%s", out)
	}

	s.env = append(s.env, "CRAWLNODE_DELAY=100ms")
	began = time.Now()
	s.start("n1", take("crawlnode --name n1"))
	take("crawlnode --name n2") // as n1 prints it:
	s.start("n2", s.printed("n1", "add a node"))
	third := take("crawlnode --name n3")
	s.printed("n2", "add a node") // its ports are taken
	s.start("n3", third)
	s.alive(3, "")
	for _, at := range []string{addr(0), addr(10), addr(20)} { // members, and ready to take seeds
		until(t, 20*time.Second, func() string {
			return strings.TrimSpace(
				s.quiet("crawlnode status --check ready --addr " + at + " >why || cat why"))
		})
	}
	toThree := time.Since(began)
	out := s.shell(strings.Replace(take("crawlnode seeds add"), "https://docs.example.org/", seeds, 1))
	var accepted, known int // known: the page of another seed has linked to it meanwhile
	if _, err := fmt.Sscanf(out[max(strings.Index(out, "seeds: "), 0):],
		"seeds: %d accepted, %d duplicate, 0 invalid", &accepted, &known); err != nil || accepted == 0 ||
		accepted+known != len(web.Seeds()) {
		t.Errorf("the seeds: %s", out)
	}
	if out := s.shell(take("crawlnode status")); strings.Count(out, " alive ") != 3 {
		t.Errorf("the status of three nodes:\n%s", out)
	}
	s.shell(take("crawlnode export cdxj"))

	atPage(t, web, web.Report().Reachable/4)
	s.whole()
	began = time.Now()
	s.shell(take("kill -9 "))
	s.alive(2, "1 failed")
	toTakeOver := time.Since(began)
	s.alive(2, "taken over in")
	s.shell(take("crawlnode status"))
	s.start("n4", strings.Replace(third, "--name n3", "--name n4", 1))
	s.alive(3, "")
	toReplaced := time.Since(began)
	until(t, time.Minute, func() string {
		if out := s.quiet("crawlnode status"); !strings.Contains(out, "frontier_exhausted") {
			return fmt.Sprintf("%d of %d pages:\n%s", web.Progress(), web.Report().Reachable, out)
		}
		return ""
	})
	report := web.Report()
	if err := report.ErrButDuplicates(); err != nil {
		t.Error(err)
	}
	s.shell(s.printed("n2", "stop"))
	if code := s.nodes["n2"].exit(t, leaveTime); code != 0 {
		t.Errorf("n2: exit code %d\n%s", code, tail(s.nodes["n2"].log, 10))
	}
	t.Logf("%d commands; %v to the first page, %v to three nodes, %v until a killed node was taken "+
		"over and %v until it was replaced", s.commands,
		toFirstPage.Round(time.Millisecond), toThree.Round(time.Millisecond),
		toTakeOver.Round(time.Millisecond), toReplaced.Round(time.Millisecond))
}

// crawl runs the first line of all; it may be called beside the test.
func (s *tutorial) crawl(line string) string {
	s.commands++
	cmd := s.command(s.replace.Replace(line))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%v\n%s", err, out)
	}
	return string(out)
}

// quiet runs a line that is not part of the tutorial.
func (s *tutorial) quiet(line string) string {
	out, _ := s.command(line).CombinedOutput() // what it says is judged
	return string(out)
}

// alive waits until so many members serve every partition.
func (s *tutorial) alive(members int, also string) {
	s.t.Helper()
	until(s.t, time.Minute, func() string {
		out := s.quiet("crawlnode status --all")
		if !strings.Contains(out, fmt.Sprintf("%d alive", members)) || !strings.Contains(out, also) ||
			!everyServed.MatchString(out) {
			return fmt.Sprintf("%d members do not serve everything:\n%s", members, out)
		}
		return ""
	})
}

// whole waits until every partition has its copies: what a killed node alone had would be gone with
// it.
func (s *tutorial) whole() {
	s.t.Helper()
	until(s.t, time.Minute, func() string {
		var st status
		if out := s.quiet("crawlnode status -o json"); json.Unmarshal([]byte(out), &st) != nil ||
			st.Ring.UnderReplicated > 0 {
			return fmt.Sprintf("%d partitions have too few copies:\n%s", st.Ring.UnderReplicated, out)
		}
		return ""
	})
}

// everyServed finds the line of a ring whose partitions are all served.
var everyServed = regexp.MustCompile(`(1024 of 1024|512 of 512) partitions served`)
