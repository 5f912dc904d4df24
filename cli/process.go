package cli

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"crawlnode/api/client"
)

// process is a program that this one started.
type process struct {
	name string
	log  string // path of what it printed
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and cmd.ProcessState is set
}

// startProcess runs this program with other arguments. What it prints goes to a
// file in dir; stdin and stdout, when not nil, take the place of nothing and of
// that file. It knows none of the CRAWLNODE_ variables.
func startProcess(env *Env, dir, name string, stdin, stdout *os.File, args ...string) (*process, error) {
	p := &process{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer out.Close() // the child has its own descriptor
	p.cmd = exec.Command(env.Executable, args...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	if stdin != nil { // a nil *os.File is no nil reader
		p.cmd.Stdin = stdin
	}
	if stdout != nil {
		p.cmd.Stdout = stdout
	}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "CRAWLNODE_") {
			p.cmd.Env = append(p.cmd.Env, variable)
		}
	}
	p.cmd.Env = append(p.cmd.Env, env.children...)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // ProcessState says how it ended
		close(p.done)
	}()
	return p, nil
}

// signal sends a signal; a process that has ended does not mind.
func (p *process) signal(sig os.Signal) { _ = p.cmd.Process.Signal(sig) }

// kill ends the process and returns when it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// ended says whether the process is gone.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// wait returns nil when the process ends with exit code 0 before ctx does.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s has not ended: %w", p.name, ctx.Err())
	case <-p.done:
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("%s ended with exit code %d; its last words:\n%s", p.name, code, p.lastWords())
	}
	return nil
}

// lastWords is the end of what the process printed.
func (p *process) lastWords() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(len(lines)-8, 0):], []byte("\n")))
}

// nodeProcess is a node in a process of its own.
type nodeProcess struct {
	*process
	http, gossip string
	api          *client.Client
}

// startNode starts a node on free ports, with a data directory under dir.
func startNode(env *Env, dir, name string, args ...string) (*nodeProcess, error) {
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	args = append([]string{
		"start", "--name", name, "--data-dir", filepath.Join(dir, name), "--log-format", "text",
		"--http", ports[0], "--gossip", ports[1], "--rpc", ports[2],
	}, args...)
	p, err := startProcess(env, dir, name, nil, nil, args...)
	if err != nil {
		return nil, err
	}
	return &nodeProcess{p, ports[0], ports[1], client.New(client.Options{Addr: ports[0]})}, nil
}

// waitReady returns when the node takes part.
func (n *nodeProcess) waitReady(ctx context.Context) error {
	for {
		if ok, _, err := n.api.Check(ctx, "ready"); ok && err == nil {
			return nil
		}
		if n.ended() {
			return fmt.Errorf("%s ended while it started:\n%s", n.name, n.lastWords())
		}
		if !pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("%s does not get ready: %w; its last words:\n%s", n.name, ctx.Err(), n.lastWords())
		}
	}
}

// close ends the process, however it stands.
func (n *nodeProcess) close() {
	n.kill()
	n.api.Close()
}

// freePorts asks the system for loopback addresses that nobody listens on.
func freePorts(n int) ([]string, error) {
	var addrs []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("looking for a free port: %w", err)
		}
		defer l.Close() // all at the end, so that none is found twice
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}
