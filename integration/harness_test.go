package integration

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// needsProcesses marks a test of real processes: -short leaves it out.
func needsProcesses(t *testing.T) {
	t.Helper()
	onRequest(t, !testing.Short(), "starts real processes; run without -short")
}

// onRequest marks a test that takes minutes to hours and is run only when it is asked for, by a
// flag or a variable. why says how, and what the check has instead. .ci/summary does not count such
// tests among those that were left out.
func onRequest(t *testing.T, asked bool, why string) {
	t.Helper()
	if !asked {
		t.Skip("on request: " + why)
	}
}

// unable leaves out a test that cannot run on this machine, for want of what why names. With CI set
// it is a failure: there everything that can run has to.
func unable(t *testing.T, why string, args ...any) {
	t.Helper()
	why = fmt.Sprintf(why, args...)
	if os.Getenv("CI") != "" {
		t.Fatalf("%s; CI is set, and there a missing dependency is a failure", why)
	}
	t.Skip(why)
}

// needsPrograms leaves out a test whose programs the system does not have.
func needsPrograms(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			unable(t, "needs %s, which make deps installs", name)
		}
	}
}

// needsDocumentation leaves out a test whose pages, documentation of Debian packages, are not here.
func needsDocumentation(t *testing.T, files ...string) {
	t.Helper()
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			unable(t, "needs documentation that make deps installs: %v", err)
		}
	}
}

// beside lets a test of faults or attacks run beside others, unless its promises are judged in
// so many runs (-faults, -hostile): times count then, and nothing else may run.
func beside(t *testing.T, judged int) {
	t.Helper()
	if judged == 0 {
		t.Parallel()
	}
}

// slack lengthens a deadline, except where times are judged (-faults, -hostile). A deadline ends a
// test that hangs, and promises nothing: on a machine that is slow, or busy with other things,
// everything takes many times as long.
func slack(d time.Duration) time.Duration {
	if !raceDetector && *faultRuns+*hostileRuns > 0 {
		return d
	}
	return d + 18*time.Minute
}

// builtIn is the folder that buildBinary made, for TestMain to remove.
var builtIn string

// buildBinary builds the command once per run, with the race detector when the
// tests have it.
var buildBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "crawlnode-integration-")
	if err != nil {
		return "", err
	}
	builtIn = dir
	return build(filepath.Join(dir, "crawlnode"))
})

// profiled has the program compiled as releases are, by the profile of crawls: minutes more, so it
// is not the check's.
var profiled = flag.Bool("pgo", false,
	"compile the program by the profile that releases are compiled by")

// pgo is the value of PGO that the scripts of releases and images get: "" is their own way.
func pgo() string {
	if *profiled {
		return "PGO="
	}
	return "PGO=off"
}

// build builds the command with some build tags.
func build(path string, flags ...string) (string, error) {
	args := append([]string{"build", "-o", path}, flags...)
	if *profiled {
		args = append(args, "-pgo=../cmd/crawlnode/crawl.pgo")
	}
	if raceDetector {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, "crawlnode/cmd/crawlnode")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building crawlnode: %w\n%s", err, out)
	}
	return path, nil
}

func TestMain(m *testing.M) {
	if browser := os.Getenv(browserVariable); browser != "" {
		err := execWithoutNetlink(browser, append([]string{browser}, os.Args[1:]...))
		fmt.Fprintf(os.Stderr, "%s: %v\n", browser, err)
		os.Exit(1)
	}
	code := m.Run()
	if imageBuilt {
		_ = exec.Command("podman", "rmi", "-f", testImage()).Run() // before the settings of podman go
	}
	for _, dir := range []string{builtIn, engineDir} {
		if dir != "" {
			_ = os.RemoveAll(dir) // a leftover in the temporary folder harms nobody
		}
	}
	os.Exit(code)
}

func binary(t *testing.T) string {
	t.Helper()
	path, err := buildBinary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// spawner starts every process from one thread that runs as long as the test binary: Linux ties
// Pdeathsig to the thread, so a killed test leaves no process behind.
var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// process is a running program with its output in a file.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when it has ended
	err  error         // of Wait; valid after done
}

// spawn starts a program in a process group of its own. It ends with the test
// at the latest, and a failed test shows the end of its output.
func spawn(t *testing.T, name, log string, argv ...string) *process {
	t.Helper()
	p := &process{
		name: name,
		cmd:  exec.Command(argv[0], argv[1:]...),
		log:  log,
		done: make(chan struct{}),
	}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = diesWithTest(true)
	started := make(chan error)
	spawner() <- func() { started <- p.cmd.Start() }
	if err := <-started; err != nil {
		t.Fatalf("starting %s: %v", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.signal(syscall.SIGKILL)
		<-p.done
		if t.Failed() {
			t.Logf("end of the output of %s:\n%s", name, lastWords(log))
		}
	})
	return p
}

// signal sends a signal to the process and its children; for a process that has ended nothing
// happens. After SIGSTOP they have stopped: until then a thread on the other processor may go on.
func (p *process) signal(s syscall.Signal) {
	select {
	case <-p.done:
		return
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, s)
	}
	for s == syscall.SIGSTOP && runs(p.cmd.Process.Pid) {
		select {
		case <-p.done:
			return
		case <-time.After(time.Millisecond): // nothing tells who is not the parent of all
		}
	}
}

// runs says whether a thread of the process group has not been stopped.
func runs(group int) bool {
	paths, err := filepath.Glob("/proc/[0-9]*/task/[0-9]*/stat")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// Behind the name, which may have blanks and brackets: state, parent, group (proc(5)).
		fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
		if len(fields) > 2 && fields[2] == strconv.Itoa(group) && !strings.Contains("TtZXx", fields[0]) {
			return true
		}
	}
	return false
}

// exit waits for the end, with slack, and returns the exit code, -1 after a signal.
func (p *process) exit(t *testing.T, within time.Duration) int {
	t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(slack(within)):
		t.Fatalf("%s has not ended after %v", p.name, slack(within))
		return 0
	}
}

func tail(path string, lines int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// crash finds the start of a Go program's crash output.
var crash = regexp.MustCompile(
	`(?m)^(panic:|fatal error:|unexpected fault address|WARNING: DATA RACE|SIG[A-Z]+:).*$`)

// lastWords returns the end of a log, or of one that ends in a crash what was
// logged before and how the crash begins.
func lastWords(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	at := crash.FindIndex(b)
	if at == nil {
		return tail(path, 40)
	}
	before := strings.Split(strings.TrimRight(string(b[:at[0]]), "\n"), "\n")
	after := strings.Split(string(b[at[0]:]), "\n")
	return strings.Join(append(before[max(0, len(before)-10):], after[:min(30, len(after))]...), "\n")
}

// run runs the command to its end and returns its exit code and both outputs. It gives the command
// again, as a person would, while a node that has been a member is not one: nodes exclude each other
// for a moment on a busy machine.
func run(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	for end := time.Now().Add(slack(0)); ; time.Sleep(100 * time.Millisecond) {
		code, stdout, stderr = runOnce(t, stdin, args...)
		if !strings.Contains(stderr, "this node has not joined a cluster yet") || time.Now().After(end) {
			return code, stdout, stderr
		}
	}
}

func runOnce(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), slack(time.Minute))
	defer cancel()
	cmd := exec.CommandContext(ctx, binary(t), args...)
	cmd.Dir = t.TempDir()
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("crawlnode %v: %v\n%s", args, err, errs.String())
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// Ports that tests hand out, from outside the range that the system uses for
// outgoing connections. Each test binary takes a block for itself, so that several
// can run at the same time.
const (
	firstPort = 10000
	endPort   = 32000
	portBlock = 1000
)

// ports is the block of this test binary; base is 0 before the first is asked for.
var ports struct {
	sync.Mutex
	base, used int
}

// freePort returns a port that is free for TCP and UDP on 127.0.0.1.
func freePort(t *testing.T) int {
	t.Helper()
	ports.Lock()
	defer ports.Unlock()
	return nextPort(t)
}

// nextPort is freePort for a caller that holds the lock.
func nextPort(t *testing.T) int {
	t.Helper()
	if ports.base == 0 {
		blocks := (endPort - firstPort) / portBlock
		ports.base = firstPort + portBlock*claimOne(t, "ports", os.Getpid()%blocks, blocks)
	}
	for range portBlock {
		port := ports.base + ports.used%portBlock
		ports.used++
		if free(port) {
			return port
		}
	}
	t.Fatalf("no free port between %d and %d", ports.base, ports.base+portBlock)
	return 0
}

// claims keeps what claimOne took.
var claims struct {
	sync.Mutex
	held []net.Listener
}

// claimOne takes one of the numbers from 0 to count-1, the wished one if it is to
// be had, until this test binary ends. No other process on this machine gets the
// same number of that kind: it would need the same abstract socket, which the
// kernel frees at the end of a process, however it ends.
func claimOne(t *testing.T, kind string, wished, count int) int {
	t.Helper()
	claims.Lock()
	defer claims.Unlock()
	for i := range count {
		n := (wished + i) % count
		l, err := net.Listen("unix", fmt.Sprintf("@crawlnode-test-%s-%d", kind, n))
		if err == nil {
			claims.held = append(claims.held, l)
			return n
		}
	}
	t.Fatalf("all %d %s are taken: end other test processes first", count, kind)
	return 0
}

func free(port int) bool {
	addr := fmt.Sprint("127.0.0.1:", port)
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return false
	}
	p, err := net.ListenPacket("udp", addr)
	_ = l.Close() // nothing was served on it
	if err != nil {
		return false
	}
	_ = p.Close() // as above
	return true
}

// until polls cond, which says what is still missing, and fails after a while, with slack.
func until(t *testing.T, within time.Duration, cond func() (missing string)) {
	t.Helper()
	within = slack(within)
	deadline := time.Now().Add(within)
	for {
		missing := cond()
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %s", within, missing)
		}
		time.Sleep(25 * time.Millisecond)
	}
}
