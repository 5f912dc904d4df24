package readback

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"

	"crawlnode/output/archive"
)

// WriteWithout writes the lines of an index but those that are left out. write writes all of them.
func WriteWithout(ctx context.Context, out io.Writer,
	write func(context.Context, io.Writer) error, omit *Omit) error {
	var writer sync.WaitGroup
	defer writer.Wait()
	r, w := io.Pipe()
	defer func() { _ = r.Close() }() // ends the writer
	writer.Go(func() { _ = w.CloseWithError(write(ctx, w)) })
	lines, kept := bufio.NewReaderSize(r, 64<<10), bufio.NewWriterSize(out, 64<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return kept.Flush()
		}
		if err != nil {
			return err
		}
		e, err := archive.ParseEntry(line)
		if err != nil {
			return err
		}
		if omit.Capture(e.URL, e.Preferences) {
			continue
		}
		if _, err := kept.Write(line); err != nil {
			return err
		}
	}
}
