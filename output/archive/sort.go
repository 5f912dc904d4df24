package archive

import (
	"bufio"
	"bytes"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"crawlnode/local/files"
)

// tempSuffix ends the name of a sorted index that is not complete yet.
const tempSuffix = ".tmp"

// maxSorts bounds the indexes that wait to be sorted; beyond that, starting a new file waits. One
// at a time is sorted.
const maxSorts = 4

// sortLater sorts the index of a finished file while the next one is being
// written. The caller holds writing.
func (a *Archive) sortLater(name string) {
	a.sortSlots <- struct{}{}
	a.sorts.Go(func() {
		defer func() { <-a.sortSlots }()
		a.sorting.Lock()
		defer a.sorting.Unlock()
		if err := finishIndex(a.dir, name); err != nil {
			a.unsorted(name, err)
		}
	})
}

// unsorted reports that an index stays unsorted. Nothing is lost: readers sort it, and the next
// Open tries again.
func (a *Archive) unsorted(name string, err error) {
	if a.opts.OnUnsorted != nil {
		a.opts.OnUnsorted(name, err)
	}
}

// finishIndex sorts the index of the finished file of that name and gives it its final name. It may
// be interrupted and repeated at any point.
func finishIndex(dir, name string) error {
	final := filepath.Join(dir, indexName(name))
	if err := sortIndex(final+openSuffix, final+tempSuffix, sortMemory); err != nil {
		return err
	}
	if err := os.Rename(final+tempSuffix, final); err != nil {
		return err
	}
	if err := files.SyncDir(dir); err != nil {
		return err
	}
	return os.Remove(final + openSuffix)
}

// finishIndexes sorts the indexes that a crash left unsorted, and rebuilds the missing indexes of
// finished files.
func (a *Archive) finishIndexes() error {
	paths, err := Files(a.dir)
	if err != nil {
		return err
	}
	for _, path := range paths {
		name := filepath.Base(path)
		index := filepath.Join(a.dir, indexName(name))
		if strings.HasSuffix(name, openSuffix) {
			continue
		}
		if _, err := os.Stat(index + openSuffix); errors.Is(err, os.ErrNotExist) {
			if _, err := os.Stat(index); err == nil {
				continue
			}
			done, err := reindex(path, index+openSuffix)
			if err != nil {
				_ = os.Remove(index + openSuffix) // it is incomplete
				a.unsorted(name, err)
				continue
			}
			if a.opts.OnRepair != nil {
				a.opts.OnRepair(done)
			}
		}
		if err := finishIndex(a.dir, name); err != nil {
			a.unsorted(name, err)
		}
	}
	return nil
}

// reindex writes the index of a finished file by reading it. A damaged file is not cut: the records
// before the damage are indexed.
func reindex(path, index string) (Repair, error) {
	done := Repair{File: filepath.Base(path)}
	out, err := os.OpenFile(index, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o640)
	if err != nil {
		return done, err
	}
	w := bufio.NewWriterSize(out, readBuffer)
	var line []byte
	done.Kept, err = Scan(path, func(r Record) error {
		if r.Length == 0 {
			return ErrShared
		}
		if !r.isCapture() {
			return nil
		}
		done.Captures++
		line = appendIndexLine(line[:0], r.line(done.File))
		_, err := w.Write(line)
		return err
	})
	if damage, ok := errors.AsType[*DamageError](err); ok {
		done.Reason, err = damage.Error(), nil
	}
	return done, errors.Join(err, w.Flush(), out.Close())
}

// sortMemory bounds the lines that are sorted at once, in bytes.
const sortMemory = 8 << 20

// sortIndex writes the lines of the index from to the file to, in the order of their bytes
// (LC_ALL=C sort), equal lines once, and syncs it.
func sortIndex(from, to string, memory int) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	defer func() {
		if e := out.Close(); err == nil {
			err = e
		}
		if err != nil {
			_ = os.Remove(to)
		}
	}()
	if err := sortTo(out, in, filepath.Dir(to), memory, currentLine); err != nil {
		return fmt.Errorf("sort %s: %w", from, err)
	}
	return out.Sync()
}

// SortLines writes the whole lines of in, each shorter than 64 KiB, to out in the order of their
// bytes (LC_ALL=C sort), equal ones once. Lines of so many bytes are sorted in memory; more of them
// wait in a nameless file in dir.
func SortLines(out io.Writer, in io.Reader, dir string, memory int) error {
	return sortTo(out, in, dir, memory, func(line []byte) []byte { return line })
}

// sortTo writes what as makes of the whole lines of in to out, sorted. Lines that do not fit into
// memory are sorted in runs in a nameless file in dir, which are then merged.
func sortTo(
	out io.Writer,
	in io.Reader,
	dir string,
	memory int,
	as func(line []byte) []byte,
) error {
	runs, err := namelessFile(dir)
	if err != nil {
		return err
	}
	defer func() { _ = runs.Close() }()
	parts, err := sortRuns(bufio.NewReaderSize(in, readBuffer), runs, memory, as)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(out, readBuffer)
	if err := MergeLines(w, parts...); err != nil {
		return err
	}
	return w.Flush()
}

// sortPrefix begins the names that files have before they are nameless.
const sortPrefix = "sort-"

// namelessFile makes a file that disappears when it is closed, also by a crash.
func namelessFile(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, sortPrefix+"*")
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		f, err = os.CreateTemp("", sortPrefix+"*") // an archive that may only be read
	}
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// removeNamed removes the files of which a crash came before they lost their name: nothing was
// written to them.
func removeNamed(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), sortPrefix) {
			continue
		}
		if info, err := e.Info(); err != nil || info.Size() > 0 || !info.Mode().IsRegular() {
			continue // not ours
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// sortRuns reads all lines of in and returns them as sorted runs: the last one in memory, the
// others in the file runs.
func sortRuns(
	in *bufio.Reader,
	runs *os.File,
	memory int,
	as func(line []byte) []byte,
) ([]io.Reader, error) {
	var (
		parts []io.Reader
		text  []byte // the lines of this run, with their ends
		ends  []int
		at    int64
	)
	for {
		line, err := in.ReadSlice('\n')
		if len(line) > 0 && err == nil {
			text = append(append(text, as(line[:len(line)-1])...), '\n')
			ends = append(ends, len(text))
		}
		last := err == io.EOF
		if err != nil && !last {
			return nil, err
		}
		if !last && len(text) < memory {
			continue
		}
		sorted := sortLines(text, ends)
		if last {
			return append(parts, bytes.NewReader(sorted)), nil
		}
		if _, err := runs.Write(sorted); err != nil {
			return nil, err
		}
		parts = append(parts, io.NewSectionReader(runs, at, int64(len(sorted))))
		at += int64(len(sorted))
		text, ends = text[:0], ends[:0]
	}
}

// sortLines returns the lines of text, which end at ends, in order.
func sortLines(text []byte, ends []int) []byte {
	lines, start := make([][]byte, len(ends)), 0
	for i, end := range ends {
		lines[i], start = text[start:end-1], end // without the line end, which would sort before a space
	}
	slices.SortFunc(lines, bytes.Compare)
	sorted := make([]byte, 0, len(text))
	for _, line := range lines {
		sorted = append(append(sorted, line...), '\n')
	}
	return sorted
}

// errNotSorted is returned by MergeLines when an input is out of order.
var errNotSorted = errors.New(
	"an index is not sorted: delete the .cdxj file with these lines and restart its node, " +
		"which rebuilds it")

// MergeLines merges sorted inputs, each line of which ends in a line feed, into one sorted output.
// Equal lines of several inputs are written once.
func MergeLines(out io.Writer, in ...io.Reader) error {
	return Merge(func(_ int, line []byte) error {
		_, err := out.Write(append(line, '\n'))
		return err
	}, in...)
}

// Merge is like MergeLines. It calls fn with each line, without its end, and the number of an input
// that has it. The line may be appended to, but not kept. An error of fn ends the merge and is
// returned as it is.
func Merge(fn func(from int, line []byte) error, in ...io.Reader) error {
	var open inputs
	for i, r := range in {
		s := &input{number: i, r: bufio.NewReaderSize(r, readBuffer)}
		if ok, err := s.next(); err != nil {
			return err
		} else if ok {
			open = append(open, s)
		}
	}
	heap.Init(&open)
	var last []byte
	for len(open) > 0 {
		s := open[0]
		if !bytes.Equal(s.line, last) {
			last = append(last[:0], s.line...)
			if err := fn(s.number, s.line); err != nil {
				return err
			}
		}
		ok, err := s.next()
		switch {
		case err != nil:
			return err
		case !ok:
			heap.Pop(&open)
		case bytes.Compare(s.line, last) < 0:
			return fmt.Errorf("%w: %.200q comes after %.200q", errNotSorted, s.line, last)
		default:
			heap.Fix(&open, 0)
		}
	}
	return nil
}

// input is a sorted input and its current line.
type input struct {
	number int
	r      *bufio.Reader
	line   []byte // without its end
}

// next reads the next line; false at the end.
func (s *input) next() (bool, error) {
	line, err := s.r.ReadSlice('\n')
	if err == io.EOF && len(line) == 0 {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("line %.200q...: %w", line, noEOF(err))
	}
	s.line = append(s.line[:0], line[:len(line)-1]...)
	return true, nil
}

// inputs is a heap, the input with the smallest line first.
type inputs []*input

func (h inputs) Len() int           { return len(h) }
func (h inputs) Less(i, j int) bool { return bytes.Compare(h[i].line, h[j].line) < 0 }
func (h inputs) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push adds an input; heap.Interface asks for it.
func (h *inputs) Push(x any) { *h = append(*h, x.(*input)) }

// Pop removes the last one.
func (h *inputs) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
