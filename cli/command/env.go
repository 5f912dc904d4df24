package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"crawlnode/api/plaintext"
	"crawlnode/crawl"
)

// Env is the world around one command. All fields but Signals and Environ must be set.
type Env struct {
	Stdin io.Reader
	// Stdout and Stderr are Screens where they are terminals (OnScreen): verbs may write what came
	// from outside as it is.
	Stdout, Stderr io.Writer
	// Lookup finds an environment variable.
	Lookup func(string) (string, bool)
	// Environ has the whole environment, as os.Environ does; nil: it is not looked through.
	Environ []string
	// Signals carries SIGINT, SIGTERM and SIGHUP; nil: there are none.
	Signals <-chan os.Signal
	// Executable is the path of this program, for the verbs that start nodes.
	Executable string
	// Version is what this build calls itself.
	Version string
}

// Verb is one thing that a person can ask for.
type Verb interface {
	// Run does it and returns the exit code. It returns soon after ctx is over.
	Run(ctx context.Context, env *Env) int
}

// Fail prints why a command cannot go on, one line for each line of the
// message, at most MostErrors and how many more, and returns the exit code.
func (e *Env) Fail(code int, format string, args ...any) int {
	lines := strings.Split(strings.TrimRight(fmt.Sprintf(format, args...), "\n"), "\n")
	for _, line := range lines[:min(len(lines), MostErrors)] {
		fmt.Fprintln(e.Stderr, "crawlnode: "+plaintext.Escape(line))
	}
	if more := len(lines) - MostErrors; more > 0 {
		fmt.Fprintln(e.Stderr, andMore(int64(more)))
	}
	return code
}

// UntilSignal returns a context that ends with the first signal that ends a
// program. The caller must call cancel.
func (e *Env) UntilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if e.Signals != nil {
		go func() { // ends with ctx, which the caller ends by cancel
			select {
			case <-e.Signals:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return ctx, cancel
}

// Examples renders command lines for a verb's help.
func Examples(lines ...string) string {
	return "Examples:\n\n    " + strings.Join(lines, "\n    ")
}

// Pause waits for d. It returns false when ctx ended first.
func Pause(ctx context.Context, d time.Duration) bool { return crawl.Wait(ctx, d) }
