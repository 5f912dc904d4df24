package linkgraph

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/zeebo/xxh3"

	"crawlnode/output/readback"
)

// namesApart is the number of names of which the place of the first is in memory.
const namesApart = 64

// Options say what the nodes are and which links count.
type Options struct {
	// Dir is the folder in which the files are made; "": the system's for temporary files.
	Dir string
	// Hosts makes a graph of hosts, not of pages.
	Hosts bool
	// Assets counts links to images, scripts, style sheets and the like as well.
	Assets bool
	// SkipNoFollow leaves out links with rel=nofollow.
	SkipNoFollow bool
	// Progress is called now and then while files are read, with the bytes that were read since the
	// last call; its error ends the reading. Nil: nobody asks.
	Progress func(bytes int64) error
}

// Counts says what was read.
type Counts struct {
	Lines   int64 // of lists, and records of WARC files
	Links   int64 // that count, repeats included
	SelfRef int64 // links of a node to itself, which do not count
	// Missing counts the duplicates in WARC files whose content is in none of them, after Finish.
	Missing int64
}

// Builder takes links in any order.
type Builder struct {
	opts   Options
	dir    string // its own
	counts Counts
	ids    map[xxh3.Uint128]uint32 // by the fingerprint of the name
	names  *os.File
	out    *bufio.Writer // to names
	place  int64         // the end of names
	places []int64
	links  []link // not yet in a run
	runs   []*os.File
	graph  *os.File // after Finish
	source lastName
	files  *readback.Scanner // nil before the first WARC file
}

// lastName is the latest source: the links of a page follow one another.
type lastName struct {
	text string
	id   uint32
}

// NewBuilder makes the folder for the files of a graph. The caller must call Close.
func NewBuilder(o Options) (*Builder, error) {
	dir, err := os.MkdirTemp(o.Dir, "crawlnode-graph-")
	if err != nil {
		return nil, err
	}
	names, err := os.Create(filepath.Join(dir, "names"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Builder{
		opts:  o,
		dir:   dir,
		ids:   map[xxh3.Uint128]uint32{},
		names: names,
		out:   bufio.NewWriterSize(names, 1<<18),
		links: make([]link, 0, runLinks),
	}, nil // at once: a slice that grows would take twice as much
}

// Counts says what was read so far.
func (b *Builder) Counts() Counts { return b.counts }

// errName is returned for a name that cannot be a URL or a host.
var errName = errors.New("a name with a line end")

// node is the number of a name.
func (b *Builder) node(name string) (uint32, error) {
	fingerprint := xxh3.HashString128(name)
	if id, known := b.ids[fingerprint]; known {
		return id, nil
	}
	if strings.IndexByte(name, '\n') >= 0 {
		return 0, errName
	}
	if len(b.ids) == math.MaxUint32 {
		return 0, fmt.Errorf("more than %d nodes", uint32(math.MaxUint32))
	}
	id := uint32(len(b.ids))
	b.ids[fingerprint] = id
	if id%namesApart == 0 {
		b.places = append(b.places, b.place)
	}
	b.place += int64(len(name)) + 1
	_, _ = b.out.WriteString(name) // the first error of out is kept: WriteByte returns it
	return id, b.out.WriteByte('\n')
}

// AddNode adds a node that may have no links.
func (b *Builder) AddNode(name string) error {
	_, err := b.node(b.nameOf(name))
	return err
}

// Add adds a link from one URL to another, or with Options.Hosts between their hosts.
func (b *Builder) Add(source, target string) error {
	return b.add(b.nameOf(source), b.nameOf(target))
}

// add adds a link between two names.
func (b *Builder) add(source, target string) error {
	if source != b.source.text || len(b.ids) == 0 {
		id, err := b.node(source)
		if err != nil {
			return err
		}
		b.source = lastName{strings.Clone(source), id}
	}
	to, err := b.node(target)
	if err != nil {
		return err
	}
	if to == b.source.id {
		b.counts.SelfRef++
		return nil
	}
	b.counts.Links++
	b.links = append(b.links, linkOf(b.source.id, to))
	if len(b.links) < runLinks {
		return nil
	}
	return b.spill()
}

// nameOf is the name of the node for a URL.
func (b *Builder) nameOf(url string) string {
	if b.opts.Hosts {
		return hostOf(url)
	}
	return url
}

// hostOf is the host of a canonical URL, without its port; that of anything else is all of it.
func hostOf(url string) string {
	_, rest, found := strings.Cut(url, "://")
	if !found {
		return url
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	if colon := strings.LastIndexByte(rest, ':'); colon > strings.LastIndexByte(rest, ']') {
		rest = rest[:colon]
	}
	return rest
}

// Finish makes the graph of what was added. Nothing can be added any more.
func (b *Builder) Finish() (*Graph, error) {
	if err := b.finishFiles(); err != nil {
		return nil, err
	}
	if err := errors.Join(b.spill(), b.out.Flush()); err != nil {
		return nil, err
	}
	nodes := len(b.ids)
	b.ids, b.links = nil, nil
	f, err := os.Create(filepath.Join(b.dir, "graph"))
	if err != nil {
		return nil, err
	}
	b.graph = f
	w := graphWriter{out: bufio.NewWriterSize(f, 1<<18)}
	if err := merge(b.runs, w.add); err != nil {
		return nil, err
	}
	w.end()
	if err := errors.Join(w.out.Flush(), b.dropRuns()); err != nil {
		return nil, err
	}
	return &Graph{file: f, names: b.names, nodes: nodes, links: w.links, places: append(b.places,
		b.place)}, nil
}

// dropRuns deletes the runs, which are as large as the graph.
func (b *Builder) dropRuns() error {
	var errs []error
	for _, f := range b.runs {
		errs = append(errs, f.Close(), os.Remove(f.Name()))
	}
	b.runs = nil
	return errors.Join(errs...)
}

// Close deletes the files, also those of the Graph.
func (b *Builder) Close() error {
	errs := []error{b.dropRuns(), b.names.Close()}
	if b.graph != nil {
		errs = append(errs, b.graph.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(b.dir))...)
}
