package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"crawlnode/cli/process"
)

// webProcess is the simweb verb in a process of its own.
type webProcess struct {
	*process.Process
	stdin  *os.File // the web ends when this is closed
	stdout *os.File
	lines  *bufio.Reader // of stdout
}

// startWeb starts a web. What it prints first are its webAddresses.
func startWeb(launcher process.Launcher, args []string) (*webProcess, error) {
	childIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer childIn.Close() // the child has its own descriptor
	stdout, childOut, err := os.Pipe()
	if err != nil {
		_ = stdin.Close() // nobody has it
		return nil, err
	}
	defer childOut.Close() // as above
	w := &webProcess{stdin: stdin, stdout: stdout, lines: bufio.NewReader(stdout)}
	if w.Process, err = launcher.Start("simweb", childIn, childOut,
		append([]string{"simweb"}, args...)...); err != nil {
		_, _ = stdin.Close(), stdout.Close() // nobody has them
		return nil, err
	}
	return w, nil
}

// read reads one line of JSON that the web prints.
func (w *webProcess) read(into any) error {
	line, err := w.lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, into)
	}
	if err != nil {
		return fmt.Errorf("the web did not say what was expected: %w:\n%s", err, w.LastLines())
	}
	return nil
}

func (w *webProcess) close() {
	w.Kill()
	_, _ = w.stdin.Close(), w.stdout.Close() // the child is gone
}
