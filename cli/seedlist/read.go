package seedlist

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"crawlnode/api"
	"crawlnode/cli/command"
	"crawlnode/crawl"
)

// Entry is a seed and where the user wrote it.
type Entry struct {
	crawl.Seed
	Place string // "seeds.txt:3", or "" for the command line
}

// Read collects seeds from the command line and from files; "-" is
// standard input. It only checks that the files can be read.
func Read(env *command.Env, urls, files []string) ([]Entry, error) {
	var seeds []Entry
	for _, url := range urls {
		seeds = append(seeds, Entry{Seed: crawl.Seed{URL: url}})
	}
	for i, file := range files {
		if file == "-" && slices.Contains(files[:i], "-") {
			return nil, errors.New("- stands twice: standard input can be read once only")
		}
		lines, err := readFile(env, file)
		if err != nil {
			return nil, fmt.Errorf("%w: give a file with one URL a line, or - for standard input", err)
		}
		if file == "-" {
			file = "standard input"
		}
		if len(lines) == 0 && file != "standard input" { // which a script may leave empty
			return nil, fmt.Errorf("%s: it has no URL: write one a line", file)
		}
		for _, seed := range lines {
			seeds = append(seeds, Entry{Seed: seed, Place: fmt.Sprintf("%s:%d", file, seed.Line)})
		}
	}
	for i := range seeds {
		seeds[i].Line = i + 1 // names the seed in reports, see Complaint
	}
	return seeds, nil
}

// ErrSignalled says that a signal came before all seeds were read.
var ErrSignalled = errors.New("stopped by a signal before all of them were read; nothing was begun")

// ReadUnless is Read, given up when a value comes from stop: standard input
// may be a person, or a pipe that no program writes to.
func ReadUnless[T any](
	stop <-chan T,
	env *command.Env,
	urls, files []string,
) (seeds []Entry, err error) {
	if len(files) == 0 {
		return Read(env, urls, nil)
	}
	if !await(stop, func() { seeds, err = Read(env, urls, files) }) {
		return nil, ErrSignalled
	}
	return seeds, err
}

// ExitCode is the exit code of an error of ReadUnless.
func ExitCode(err error) int {
	if errors.Is(err, ErrSignalled) {
		return command.ExitInterrupted
	}
	return command.ExitUsage
}

func readFile(env *command.Env, file string) ([]crawl.Seed, error) {
	r := env.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	text, err := plainText(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	seeds, err := api.ReadSeedLines(io.LimitReader(text, maxSeedBytes))
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) {
		err = errors.New("the packed file is cut off or damaged: pack it again")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return seeds, nil
}

// maxSeedBytes bounds what is read of a list of seeds, after decompression.
const maxSeedBytes = 1 << 30

// plainText decompresses r when it is gzip, and refuses what is no text: by its mark, or by a zero
// byte near its begin.
func plainText(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	mark, _ := b.Peek(2) // an error comes again with the first read
	switch string(mark) {
	case "\x1f\x8b":
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("it begins as gzip does, and is damaged: %w", err)
		}
		b = bufio.NewReader(z)
	case "\xff\xfe", "\xfe\xff":
		return nil, errors.New("it is UTF-16: save it as UTF-8")
	case "PK", "%P", "BZ", "\xfd7", "\x28\xb5":
		return nil, errors.New("it is no text: a list of URLs is a text, plain or packed with gzip")
	}
	if b.Buffered() == 0 {
		return b, nil // what comes from a person or a pipe comes by and by
	}
	if begin, _ := b.Peek(b.Buffered()); bytes.IndexByte(begin, 0) >= 0 {
		return nil, errors.New("it is no text: a list of URLs is a text, plain or packed with gzip")
	}
	return b, nil
}

// Plain drops the places.
func Plain(seeds []Entry) []crawl.Seed {
	out := make([]crawl.Seed, len(seeds))
	for i, s := range seeds {
		out[i] = s.Seed
	}
	return out
}

// await runs do, which may take for ever and has no context, such as reading what a
// person types. False: a value came from stop first. The process must end then, since do
// still runs.
func await[T any](stop <-chan T, do func()) bool {
	done := make(chan struct{})
	go func() { do(); close(done) }()
	select {
	case <-done:
		return true
	case <-stop:
		return false
	}
}
