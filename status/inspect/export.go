package inspect

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/output/archive"
)

// This file reads archives for any node: the cluster's index, merged from all members, and single
// records.

// archiveQuestion asks a member for a part of its archive: its index, or the record at a position.
// It is sent as JSON, so fields are only ever added.
type archiveQuestion struct {
	Index bool `json:"index,omitempty"`
	// Range is the part of the index that is wanted. A node of an earlier release sends all of it.
	Range  crawl.IndexRange `json:"range,omitzero"`
	File   string           `json:"file,omitempty"`
	Offset int64            `json:"offset,omitempty"`
}

// WriteIndex writes the CDXJ lines of all captures that the members have, each once, in the order
// of LC_ALL=C sort. The output is complete only when the error is nil. Members that are gone are
// not asked; their files stay on their disks.
func (i *Inspector) WriteIndex(ctx context.Context, out io.Writer) error {
	lines := bufio.NewWriterSize(out, 64<<10)
	if err := i.EachCapture(ctx, crawl.IndexRange{}, func(_ crawl.NodeRef, line []byte) error {
		_, err := lines.Write(append(line, '\n'))
		return err
	}); err != nil {
		return err
	}
	return lines.Flush()
}

// EachCapture calls fn with each line of WriteIndex in a range, without its end, and a member that has it. fn may append to
// the line, but not keep it. An error of fn ends the walk and is returned as it is.
func (i *Inspector) EachCapture(ctx context.Context, r crawl.IndexRange, fn func(node crawl.NodeRef, line []byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var own sync.WaitGroup
	defer own.Wait()
	defer cancel()
	ownLines, w := io.Pipe()
	defer func() { _ = ownLines.Close() }() // ends the writer
	own.Go(func() { _ = w.CloseWithError(i.o.Archive.WriteRange(w, r)) })

	parts, nodes := []io.Reader{ownLines}, []crawl.NodeRef{i.o.Cluster.Ref(i.o.Self)}
	for _, m := range i.o.Cluster.Others() {
		part, err := i.askArchive(ctx, m, archiveQuestion{Index: true, Range: r})
		if err != nil {
			return err
		}
		defer func() { _ = part.Close() }()
		lines, err := archive.CurrentLines("", part) // a member of an earlier release sorts by other keys
		if err != nil {
			return fmt.Errorf("the archive of %s: %w", m.Name, err)
		}
		defer func() { _ = lines.Close() }()
		parts, nodes = append(parts, lines), append(nodes, m)
	}
	return archive.Merge(func(from int, line []byte) error {
		if !archive.InRange(r, line) {
			return nil
		}
		return fn(nodes[from], line)
	}, parts...)
}

// OpenCapture opens the record at a position in any member's archive, unchanged from its file: a
// gzip member or a zstd frame. crawl.ErrNoCapture: no member that answers has it.
func (i *Inspector) OpenCapture(ctx context.Context, file string, offset int64) (io.ReadCloser, error) {
	own, err := i.o.Archive.OpenMember(file, offset)
	if !errors.Is(err, archive.ErrNoCapture) {
		return own, err
	}
	why := err
	for _, m := range i.o.Cluster.Others() {
		r, err := i.askArchive(ctx, m, archiveQuestion{File: file, Offset: offset})
		if err == nil {
			return r, nil
		}
		if status.Code(err) != codes.NotFound {
			why = err // that member may have it
		}
	}
	if i.o.Away != nil {
		if m, err := i.o.Away(ctx, file, offset); err == nil {
			return m, nil
		} else if !errors.Is(err, archive.ErrNoCapture) {
			why = err
		}
	}
	if errors.Is(why, archive.ErrNoCapture) { // what this node lacks says nothing of the others
		return nil, fmt.Errorf("%w: no member has a record at offset %d of %.200q", crawl.ErrNoCapture, offset, file)
	}
	return nil, fmt.Errorf("%w: %w", crawl.ErrNoCapture, why)
}

// askArchive asks another member and waits for the first bytes.
func (i *Inspector) askArchive(ctx context.Context, m crawl.NodeRef, q archiveQuestion) (io.ReadCloser, error) {
	r, err := i.o.Peers.Archive(ctx, m.ID, encode(q))
	if err != nil {
		return nil, fmt.Errorf("the archive of %s: %w", m.Name, err)
	}
	first := make([]byte, 1)
	k, err := io.ReadFull(r, first)
	if err != nil && !errors.Is(err, io.EOF) {
		_ = r.Close()
		return nil, fmt.Errorf("the archive of %s: %w", m.Name, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(first[:k]), r), r}, nil
}

// ServeArchive answers another member from this node's archive.
func (i *Inspector) ServeArchive(payload []byte, out io.Writer) error {
	var q archiveQuestion
	if err := json.Unmarshal(payload, &q); err != nil {
		return status.Error(codes.InvalidArgument, fmt.Sprintf("the question: %v", err))
	}
	if q.Index {
		return i.o.Archive.WriteRange(out, q.Range)
	}
	m, err := i.o.Archive.OpenMember(q.File, q.Offset)
	if errors.Is(err, archive.ErrNoCapture) {
		return status.Error(codes.NotFound, err.Error())
	}
	if err != nil {
		return err
	}
	defer func() { _ = m.Close() }()
	_, err = io.Copy(out, m)
	return err
}
