package process

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
	"crawlnode/cli/command"
)

// Launcher starts programs.
type Launcher struct {
	Executable string   // what is started
	Dir        string   // of the logs, and of the nodes' data
	Variables  []string // NAME=VALUE, beside the environment of this process
}

// Process is a program that this one started.
type Process struct {
	Name string
	Cmd  *exec.Cmd
	Done <-chan struct{} // closed when it has ended and Cmd.ProcessState is set

	log string // path of what it printed
}

// Start starts the program. What it prints goes to a file in Dir; stdin and stdout,
// when not nil, replace the empty input and that file. The program gets none of the
// CRAWLNODE_ variables of this process.
func (l *Launcher) Start(name string, stdin, stdout *os.File, args ...string) (*Process, error) {
	done := make(chan struct{})
	p := &Process{Name: name, log: filepath.Join(l.Dir, name+".log"), Done: done}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer out.Close() // the child has its own descriptor
	p.Cmd = exec.Command(l.Executable, args...)
	p.Cmd.Stdout, p.Cmd.Stderr = out, out
	if stdin != nil { // a nil *os.File is no nil reader
		p.Cmd.Stdin = stdin
	}
	if stdout != nil {
		p.Cmd.Stdout = stdout
	}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "CRAWLNODE_") {
			p.Cmd.Env = append(p.Cmd.Env, variable)
		}
	}
	p.Cmd.Env = append(p.Cmd.Env, l.Variables...)
	if err := p.Cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		_ = p.Cmd.Wait() // ProcessState says how it ended
		close(done)
	}()
	return p, nil
}

// Signal sends a signal. It does nothing when the process has ended.
func (p *Process) Signal(sig os.Signal) { _ = p.Cmd.Process.Signal(sig) }

// Kill ends the process and returns when it is gone.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill()
	<-p.Done
}

// Ended reports whether the process is gone.
func (p *Process) Ended() bool {
	select {
	case <-p.Done:
		return true
	default:
		return false
	}
}

// Wait returns nil when the process ends with exit code 0 before ctx does.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s has not ended: %w", p.Name, ctx.Err())
	case <-p.Done:
	}
	if code := p.Cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("%s ended with exit code %d; its last lines:\n%s", p.Name, code, p.LastLines())
	}
	return nil
}

// LastLines is the end of what the process printed.
func (p *Process) LastLines() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(len(lines)-8, 0):], []byte("\n")))
}

// Node is a node in a process of its own.
type Node struct {
	*Process
	HTTP, Gossip string // its addresses
	API          *client.Client
}

// StartNode starts a node on free ports, with a data directory under Dir.
func (l *Launcher) StartNode(name string, args ...string) (*Node, error) {
	ports, err := FreePorts(3)
	if err != nil {
		return nil, err
	}
	args = append([]string{
		"start", "--name", name, "--data-dir", filepath.Join(l.Dir, name), "--log-format", "text",
		"--http", ports[0], "--gossip", ports[1], "--rpc", ports[2],
	}, args...)
	p, err := l.Start(name, nil, nil, args...)
	if err != nil {
		return nil, err
	}
	return &Node{p, ports[0], ports[1], client.New(client.Options{Addr: ports[0]})}, nil
}

// WaitReady returns when the node takes part in the cluster.
func (n *Node) WaitReady(ctx context.Context) error {
	for {
		if ok, _, err := n.API.Check(ctx, "ready"); ok && err == nil {
			return nil
		}
		if n.Ended() {
			return fmt.Errorf("%s ended while it started:\n%s", n.Name, n.LastLines())
		}
		if !command.Pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("%s does not get ready: %w; its last lines:\n%s", n.Name, ctx.Err(),
				n.LastLines())
		}
	}
}

// Close ends the process, whatever its state.
func (n *Node) Close() {
	n.Kill()
	n.API.Close()
}

// FreePorts asks the system for loopback addresses that nobody listens on.
func FreePorts(n int) ([]string, error) {
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
