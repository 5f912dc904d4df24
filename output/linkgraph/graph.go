package linkgraph

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// Graph is the links of a Builder, on disk. It is good until the Builder is closed.
type Graph struct {
	file, names *os.File
	nodes       int
	links       int64
	places      []int64 // of every namesApart-th name
	sources     []uint32
	line        []byte
}

// Nodes is the number of nodes.
func (g *Graph) Nodes() int { return g.nodes }

// Links is the number of distinct links.
func (g *Graph) Links() int64 { return g.links }

// InLinks calls f for each node that has in-links, in ascending order, with the nodes that link to
// it. sources is good until f returns. It returns the first error of f.
func (g *Graph) InLinks(f func(node uint32, sources []uint32) error) error {
	if _, err := g.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in := bufio.NewReaderSize(g.file, 1<<20)
	next := uint64(0) // the node before, + 1
	for {
		distance, err := binary.ReadUvarint(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the graph: %w", err)
		}
		next += distance
		if err := g.readSources(in); err != nil {
			return fmt.Errorf("read the graph: %w", err)
		}
		if err := f(uint32(next-1), g.sources); err != nil {
			return err
		}
	}
}

// readSources reads the sources of one node.
func (g *Graph) readSources(in *bufio.Reader) error {
	n, err := binary.ReadUvarint(in)
	g.sources = g.sources[:0]
	last := uint64(0)
	for range n {
		if err != nil {
			break
		}
		var distance uint64
		distance, err = binary.ReadUvarint(in)
		last += distance
		g.sources = append(g.sources, uint32(last))
	}
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Name is the URL or the host of a node.
func (g *Graph) Name(node uint32) (string, error) {
	group := int(node) / namesApart
	from, to := g.places[group], g.places[group+1]
	if cap(g.line) < int(to-from) {
		g.line = make([]byte, to-from)
	}
	g.line = g.line[:to-from]
	if _, err := g.names.ReadAt(g.line, from); err != nil {
		return "", fmt.Errorf("read the names: %w", err)
	}
	rest := g.line
	for range int(node) % namesApart {
		_, rest, _ = bytes.Cut(rest, []byte{'\n'})
	}
	name, _, _ := bytes.Cut(rest, []byte{'\n'})
	return string(name), nil
}
