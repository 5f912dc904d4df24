package table

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// RowGroupBytes bounds the values of a row group, which is in memory while it is made, in bytes;
// and rowGroupRows its rows.
const (
	RowGroupBytes = 32 << 20
	rowGroupRows  = 256 << 10
)

// row is what a table is made of.
type row interface {
	// size is about how many bytes the row's values have.
	size() int
}

// Writer writes one table.
type Writer[T row] struct {
	path    string // a file, or a folder
	parts   bool
	rows    int64 // of a part, at most
	options []parquet.WriterOption

	file  *os.File
	out   *parquet.GenericWriter[T]
	group struct {
		rows  int
		bytes int
	}
	inPart int64
	part   int
	total  Summary
	one    [1]T
}

// Summary says what was written.
type Summary struct {
	Rows, Files, Bytes int64
}

// Create begins a table. A path that ends in .parquet is one file; any other one is a folder, new
// or empty, of parts of at most rows rows.
func Create[T row](path string, rows int64, software string) (*Writer[T], error) {
	w := &Writer[T]{
		path:  path,
		rows:  rows,
		parts: !strings.HasSuffix(path, ".parquet"),
		options: []parquet.WriterOption{
			parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest, Concurrency: 1}),
			parquet.CreatedBy("crawlnode", software, ""), parquet.DataPageStatistics(true),
			parquet.PageBufferSize(256 << 10),
		},
	}
	if !w.parts {
		return w, nil
	}
	entries, err := os.ReadDir(path)
	switch {
	case err == nil && len(entries) > 0:
		return nil, fmt.Errorf(
			"%s is not empty: name a new or an empty folder, or a file that ends in .parquet", path)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	return w, os.MkdirAll(path, 0o755)
}

// name is that of the part that is written.
func (w *Writer[T]) name() string {
	if !w.parts {
		return w.path
	}
	return filepath.Join(w.path, fmt.Sprintf("part-%05d.parquet", w.part))
}

// Write adds a row.
func (w *Writer[T]) Write(r T) error {
	if w.out == nil {
		if err := w.begin(); err != nil {
			return err
		}
	}
	w.one[0] = r
	if _, err := w.out.Write(w.one[:]); err != nil {
		return err
	}
	w.total.Rows++
	w.inPart++
	w.group.rows++
	w.group.bytes += r.size()
	if w.group.rows >= rowGroupRows || w.group.bytes >= RowGroupBytes {
		w.group.rows, w.group.bytes = 0, 0
		if err := w.out.Flush(); err != nil {
			return err
		}
	}
	if w.parts && w.inPart >= w.rows {
		return w.finish()
	}
	return nil
}

func (w *Writer[T]) begin() (err error) {
	if w.file, err = os.Create(w.name() + ".tmp"); err != nil {
		return err
	}
	w.out = parquet.NewGenericWriter[T](w.file, w.options...)
	return nil
}

// finish completes a part.
func (w *Writer[T]) finish() error {
	err := errors.Join(w.out.Close(), w.file.Sync())
	info, statErr := w.file.Stat()
	if err = errors.Join(err, statErr, w.file.Close()); err != nil {
		return errors.Join(err, os.Remove(w.file.Name()))
	}
	w.total.Bytes += info.Size()
	w.total.Files++
	name := w.name()
	w.out, w.inPart, w.group.rows, w.group.bytes = nil, 0, 0, 0
	w.part++
	return os.Rename(w.file.Name(), name)
}

// Close completes the table. A table without rows is a file without rows.
func (w *Writer[T]) Close() (Summary, error) {
	if w.out == nil && w.total.Files == 0 {
		if err := w.begin(); err != nil {
			return w.total, err
		}
	}
	if w.out == nil {
		return w.total, nil
	}
	err := w.finish()
	return w.total, err
}

// Abort removes the part that is not whole. Parts that are stay. After Close it does nothing.
func (w *Writer[T]) Abort() {
	if w.out != nil {
		_ = w.file.Close()
		_ = os.Remove(w.file.Name()) // a file that ends in .tmp is no part
		w.out = nil
	}
}
