package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"crawlnode/cli/command"
)

// How often a probe asks. Each answer is waited for before the next question.
const (
	statusEvery  = 25 * time.Millisecond
	metricsEvery = 100 * time.Millisecond
)

// probeResult is how long a busy node takes to answer, and what it has open.
type probeResult struct {
	Status     answerTimes `json:"status"`
	Metrics    answerTimes `json:"metrics"`
	Goroutines int         `json:"goroutines"` // at most, of the first node
	Files      int         `json:"open_files"` // at most, sockets among them, of the first node
	// PossiblePerSecond is the rate that delay, latency and fetchers allow, whatever
	// the processor does; 0: they set no bound.
	PossiblePerSecond float64 `json:"possible_pages_per_second"`
}

// answerTimes are milliseconds from a question to the whole answer.
type answerTimes struct {
	Asked int     `json:"asked"`
	P50   float64 `json:"p50_milliseconds"`
	P99   float64 `json:"p99_milliseconds"`
	Max   float64 `json:"max_milliseconds"`
}

func (r *probeResult) text() string {
	text := fmt.Sprintf("/status p99 %.1f ms (%d asked), /metrics p99 %.1f ms (%d); "+
		"%d goroutines and %d open files at most",
		r.Status.P99, r.Status.Asked, r.Metrics.P99, r.Metrics.Asked, r.Goroutines, r.Files)
	if r.PossiblePerSecond > 0 {
		text += fmt.Sprintf("; %.0f pages/s were possible but for the processor", r.PossiblePerSecond)
	}
	return text
}

// possible works out the bound of the rate: a host gives a page in its delay and
// its latency, a fetcher in its latency.
func (r *probeResult) possible(what *variant) {
	delay, fetchers := time.Duration(0), 256 // the default of start
	for _, s := range what.Set {
		name, value, _ := strings.Cut(s, "=")
		switch name { // the node has refused a value that cannot be read
		case "delay":
			delay, _ = time.ParseDuration(value)
		case "fetchers":
			fetchers, _ = strconv.Atoi(value)
		}
	}
	if what.Latency > 0 {
		// Without a delay the next request waits for twice the latency all the same.
		byHosts := float64(what.Hosts) / (max(delay, 2*what.Latency) + what.Latency).Seconds()
		r.PossiblePerSecond = min(byHosts, float64(what.Nodes*fetchers)/what.Latency.Seconds())
	}
}

// probe asks a node while it works. What it finds is read after its goroutines
// have ended.
type probe struct {
	cancel          context.CancelFunc
	wg              sync.WaitGroup
	status, metrics []time.Duration
	result          probeResult
	statusErr       error
	metricsErr      error
}

// startProbe begins to ask the first node. stop must be called.
func startProbe(ctx context.Context, b *run) *probe {
	ctx, cancel := context.WithCancel(ctx)
	p := &probe{cancel: cancel}
	n := b.nodes[0]
	p.wg.Go(func() {
		p.status, p.statusErr = askOften(ctx, statusEvery, func() error {
			_, err := n.API.Status(ctx, false)
			return err
		})
	})
	p.wg.Go(func() {
		p.metrics, p.metricsErr = askOften(ctx, metricsEvery, func() error {
			text, err := n.API.Metrics(ctx)
			if err != nil {
				return err
			}
			goroutines, err := metric(text, "go_goroutines")
			p.result.Goroutines = max(p.result.Goroutines, int(goroutines))
			p.result.Files = max(p.result.Files, openFiles(n.Cmd.Process.Pid))
			return err
		})
	})
	return p
}

// stop ends the probe and tells what it found. It may be called again.
func (p *probe) stop() (*probeResult, error) {
	p.cancel()
	p.wg.Wait()
	p.result.Status, p.result.Metrics = answersOf(p.status), answersOf(p.metrics)
	return &p.result, errors.Join(p.statusErr, p.metricsErr)
}

// askOften asks until ctx is over and returns how long each answer took.
func askOften(
	ctx context.Context,
	every time.Duration,
	ask func() error,
) (took []time.Duration, err error) {
	for command.Pause(ctx, every) {
		began := time.Now()
		if err := ask(); err != nil {
			if ctx.Err() != nil {
				return took, nil
			}
			return took, err
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

// answersOf sorts took and reads the quantiles off it.
func answersOf(took []time.Duration) answerTimes {
	a := answerTimes{Asked: len(took)}
	if len(took) == 0 {
		return a
	}
	slices.Sort(took)
	at := func(percent int) float64 { return took[(len(took)-1)*percent/100].Seconds() * 1000 }
	a.P50, a.P99, a.Max = at(50), at(99), at(100)
	return a
}

// openFiles counts the descriptors of a process, 0 when the system does not say
// (Linux does, in /proc).
func openFiles(pid int) int {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(entries)
}

// rssAnon is the anonymous memory of a process in bytes, 0 when the system does
// not say (Linux does, in /proc).
func rssAnon(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "RssAnon:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64) // 0 when it is no number
			return kib << 10
		}
	}
	return 0
}
