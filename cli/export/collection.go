package export

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/output/readback"
	"crawlnode/output/wacz"
)

// WACZVerb writes a collection.
type WACZVerb struct {
	from              `embed:""`
	command.Unpacking `embed:""`
	toStore           `embed:""`
	Output            string `short:"o" required:"" group:"output" placeholder:"FILE" help:"The file to write, which stands there only when it is whole; its name should end in .wacz."`
	Title             string `group:"output" help:"The title of the collection."`
	Text              bool   `group:"output" help:"Also the text of each page, for viewers that search."`
}

// Help gives the examples of the verb and says what it writes.
func (*WACZVerb) Help() string {
	return command.Examples("crawlnode export wacz -o crawl.wacz", "crawlnode export wacz "+
		"--data-dir crawlnode-data/n1 --data-dir crawlnode-data/n2 --title Example --text -o "+
		"crawl.wacz") + `

One file that viewers of web archives open, such as ReplayWeb.page: WARC, index,
list of pages, and the digest of each part (WACZ 1.1.1). From data directories the
WARC files are taken as they are. From a running cluster, and for .warc.zst, each
record of a page is put into new files, without those of the requests.`
}

// Run writes the collection.
func (v *WACZVerb) Run(ctx context.Context, env *command.Env) int {
	store, err := v.openStore(v.Output)
	if err != nil {
		return env.Fail(command.ExitUsage, "%v", err)
	}
	c := &collection{ends: map[string]int64{}}
	code := v.run(ctx, env, func(ctx context.Context, src source) error {
		if err := errors.Join(write(env, v.Output, func(out io.Writer) error {
			index, err := spool(ctx, src)
			if err != nil {
				return err
			}
			defer func() { _ = index.Close() }()
			c.src, c.index = src, index
			buffered := bufio.NewWriterSize(out, 256<<10)
			return errors.Join(c.write(ctx, buffered, v, software(env)), buffered.Flush())
		}), c.left.err()); err != nil {
			return err
		}
		c.left.warn(env)
		return store.copy(ctx, v.Output)
	})
	if code == command.ExitOK && v.Output != "-" {
		fmt.Fprintln(env.Stdout, plaintext.Escape(fmt.Sprintf("%s captures, %s pages in %s",
			plaintext.Count(c.captures), plaintext.Count(c.pages), v.Output)))
	}
	return code
}

// collection is a WACZ file that is being written.
type collection struct {
	src   source
	index *os.File // all lines
	left  unread

	captures, pages int64
	first           *wacz.Page
	packed          bool             // some file is no .warc.gz
	ends            map[string]int64 // of each file: the end of the last record that the index names
}

func (c *collection) write(ctx context.Context, out io.Writer, v *WACZVerb, software string) error {
	if err := c.eachLine(ctx, func(e *archive.Entry) error {
		c.captures++
		c.ends[e.Ref.File] = max(c.ends[e.Ref.File], e.Ref.Offset+e.Ref.Length)
		c.packed = c.packed || !strings.HasSuffix(e.Ref.File, ".warc.gz")
		if c.first == nil && e.Status == 200 && e.MIME == "text/html" {
			c.first = &wacz.Page{URL: e.URL, At: e.At}
		}
		return nil
	}); err != nil {
		return err
	}
	o := wacz.Options{Title: v.Title, Software: software, Created: time.Now()}
	if c.first != nil {
		o.MainPage, o.MainTime = c.first.URL, c.first.At
	}
	w := wacz.New(out, o)
	if err := c.archive(ctx, w); err != nil {
		return err
	}
	if err := w.Pages(func(add func(wacz.Page) error) error {
		return eachPage(ctx, c.spooled(), v.Most(), &c.left,
			func(e *archive.Entry, p *readback.Page) error {
				d, err := documentOf(e, p)
				if err != nil {
					c.left.note(e, err)
					return nil
				}
				if !v.Text || d.noIndex { // viewers search what they are given
					d.Text = ""
				}
				c.pages++
				return add(wacz.Page{URL: e.URL, At: e.At, Title: cmp.Or(d.Title, e.URL), Text: d.Text})
			})
	}); err != nil {
		return err
	}
	return w.Close()
}

// spooled is a source whose index was read already.
type spooled struct {
	source
	index *os.File
}

func (s spooled) WriteIndex(_ context.Context, out io.Writer) error {
	if _, err := s.index.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(out, s.index)
	return err
}

// spooled is the source of the collection with the index that was read.
func (c *collection) spooled() source {
	// the index is without what is left out; the pages may say more
	if x, ok := c.src.(excluding); ok {
		return excluding{spooled{x.source, c.index}, x.omit}
	}
	return spooled{c.src, c.index}
}

// eachLine calls fn with each entry of the index.
func (c *collection) eachLine(ctx context.Context, fn func(e *archive.Entry) error) error {
	if _, err := c.index.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return archive.ReadEntries(c.index, func(e archive.Entry) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fn(&e)
	})
}

// archive adds the WARC files and the index.
func (c *collection) archive(ctx context.Context, w *wacz.Writer) error {
	dirs, local := c.src.(*readback.Archives)
	if !local || c.packed {
		return c.members(ctx, w)
	}
	for _, dir := range dirs.Folders {
		paths, err := archive.Files(dir)
		if err != nil {
			return err
		}
		for _, path := range paths {
			if err := c.file(ctx, w, path); err != nil {
				return err
			}
		}
	}
	if _, err := c.index.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return addIndex(w, c.index)
}

// addIndex adds the lines of an index, by the keys that viewers of a collection look up.
func addIndex(w *wacz.Writer, lines io.Reader) error {
	r, keyed := io.Pipe()
	done := make(chan error, 1)
	go func() { // ends when the lines do, or at the first write after r is closed
		buffered := bufio.NewWriterSize(keyed, 64<<10)
		var line []byte
		err := archive.ReadEntries(lines, func(e archive.Entry) error {
			line = archive.AppendForeign(line[:0], wacz.Key(e.URL), &e)
			_, err := buffered.Write(line)
			return err
		})
		err = errors.Join(err, buffered.Flush())
		_ = keyed.CloseWithError(err)
		done <- err
	}()
	sorted, err := archive.SortedForeign("", r)
	_ = r.CloseWithError(errors.Join(err, io.ErrClosedPipe))
	if read := <-done; err != nil || read != nil {
		return errors.Join(err, read)
	}
	return errors.Join(w.Index(sorted), sorted.Close())
}

// file adds a WARC file as it is. One that is being written ends with the last record that the
// index names.
func (c *collection) file(ctx context.Context, w *wacz.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	name := filepath.Base(path)
	bytes := io.Reader(f)
	if final, open := strings.CutSuffix(name, ".open"); open {
		name, bytes = final, io.LimitReader(f, c.ends[final])
	}
	return w.AddFile(name, func(out io.Writer) error {
		_, err := io.Copy(out, contextReader{ctx, bytes})
		return err
	})
}

// contextReader ends with its context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(p)
}

// fileBytes is the size at which a new file of records is begun.
const fileBytes = 1 << 30

// members puts the records into new files, and writes an index of those.
func (c *collection) members(ctx context.Context, w *wacz.Writer) error {
	placed, err := os.CreateTemp("", "crawlnode-index-")
	if err != nil {
		return err
	}
	defer func() { _ = placed.Close() }()
	if err := os.Remove(placed.Name()); err != nil {
		return err
	}
	lines := bufio.NewWriterSize(placed, 256<<10)
	if _, err := c.index.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in := bufio.NewReaderSize(c.index, 64<<10)
	for n, more := 0, true; more; n++ {
		name := fmt.Sprintf("data-%05d.warc.gz", n)
		if err := w.AddFile(name, func(out io.Writer) (err error) {
			more, err = c.fill(ctx, in, name, out, lines)
			return err
		}); err != nil {
			return err
		}
	}
	if err := lines.Flush(); err != nil {
		return err
	}
	if _, err := placed.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return addIndex(w, placed)
}

// fill writes records to a file until it is large enough; more: there are others.
func (c *collection) fill(
	ctx context.Context,
	in *bufio.Reader,
	name string,
	out, lines io.Writer,
) (more bool, err error) {
	counted := &counter{w: out}
	for counted.n < fileBytes {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		e, err := archive.ParseEntry(line)
		if err != nil {
			return false, err
		}
		begin := counted.n
		if err := c.member(ctx, &e, counted); err != nil {
			if ctx.Err() != nil || counted.n > begin {
				return false, err
			}
			c.left.note(&e, err)
			continue
		}
		e.Ref = crawl.ArchiveRef{File: name, Offset: begin, Length: counted.n - begin}
		if _, err := lines.Write(archive.AppendEntry(nil, &e)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// counter counts what is written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// member copies a record; one in a zstd frame, or without compression, becomes a gzip member. A
// record whose payload is that of a URL that is left out gets it.
func (c *collection) member(ctx context.Context, e *archive.Entry, out io.Writer) error {
	if x, ok := c.src.(excluding); ok && e.Revisit {
		response, err := x.standAlone(ctx, e.Ref)
		if err != nil {
			return err
		}
		if response != nil {
			e.Revisit, e.MIME = false, response.ContentType
			return readback.WriteResponse(gzip.NewWriter(out), response)
		}
	}
	r, err := openMember(ctx, c.src, e.Ref)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	in := bufio.NewReader(r)
	magic, err := in.Peek(4)
	if err != nil {
		return err
	}
	plain := io.Reader(in)
	switch {
	case magic[0] == 0x1f && magic[1] == 0x8b:
		_, err := io.Copy(out, in)
		return err
	case string(magic) != "WARC":
		frame, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(8<<20))
		if err != nil {
			return err
		}
		defer frame.Close()
		plain = frame
	}
	z := gzip.NewWriter(out)
	_, err = io.Copy(z, plain)
	return errors.Join(err, z.Close())
}

// openMember opens a record as it is stored.
func openMember(ctx context.Context, src source, ref crawl.ArchiveRef) (io.ReadCloser, error) {
	if x, ok := src.(excluding); ok {
		src = x.source
	}
	if c, ok := src.(cluster); ok {
		return c.client.OpenCapture(ctx, ref.File, ref.Offset)
	}
	dirs, _ := src.(*readback.Archives)
	return dirs.OpenMember(ref)
}
