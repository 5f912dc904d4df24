package mirror

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Line is what the manifest says of a URL: one that was saved has a File, one that redirects a
// RedirectTo. Unknown and empty fields are left out.
type Line struct {
	URL        string `json:"url"`
	File       string `json:"file,omitempty"` // path in the folder, with slashes
	Status     int    `json:"status"`
	Type       string `json:"type,omitempty"` // media type
	SHA256     string `json:"sha256,omitempty"`
	Bytes      int64  `json:"bytes,omitempty"`
	FetchedAt  string `json:"fetched_at"`
	RedirectTo string `json:"redirect_to,omitempty"`
	// why the file has not all of the page, as in WARC-Truncated
	Truncated string `json:"truncated,omitempty"`
	Error     string `json:"error,omitempty"` // why there is no file, or what is wrong with it
	// WARC is the record that the file was made from.
	WARC *Place `json:"warc,omitempty"`
	// Plan is a hash of what was saved under which name when the links of the file were written.
	Plan string `json:"plan,omitempty"`
}

// Place is the place of a record in the archive.
type Place struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
}

// manifest is the manifest of a folder while a run goes on.
type manifest struct {
	folder *Folder
	file   *os.File
	w      *bufio.Writer
	known  *table // the last line of each URL
	size   int64
	dead   int // lines that a later one replaces, or that cannot be read
}

// openManifest reads the manifest into known. A line that a kill has cut is cut off. Each file is
// told to claim.
func openManifest(f *Folder, known *table, claim func(path string) error) (*manifest, error) {
	file, err := f.root.OpenFile(manifestName, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	m := &manifest{folder: f, file: file, known: known}
	err = eachLine(io.NewSectionReader(file, 0, 1<<62), func(offset int64, line []byte) error {
		m.size = offset + int64(len(line)) + 1
		return m.take(offset, line, claim)
	})
	if err == nil {
		err = file.Truncate(m.size)
	}
	if err == nil {
		_, err = file.Seek(m.size, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	m.w = bufio.NewWriterSize(file, 64<<10)
	return m, nil
}

// take takes a line of an earlier run.
func (m *manifest) take(offset int64, raw []byte, claim func(path string) error) error {
	var l Line
	if json.Unmarshal(raw, &l) != nil || l.URL == "" || l.File != "" && !isSafe(l.File) {
		m.dead++
		return nil
	}
	if old, ok, err := m.of(l.URL); err != nil {
		return err
	} else if ok {
		m.dead++
		if err := m.removeOld(&old, l.File); err != nil {
			return err
		}
	}
	if l.File != "" {
		if err := claim(l.File); err != nil {
			return err
		}
	}
	return m.known.set(keyOf('m', l.URL), offset)
}

// isSafe reports whether a path can be one of ours: whoever has written the manifest, nothing else
// in the folder is changed.
func isSafe(path string) bool {
	if !fs.ValidPath(path) || strings.Contains(path, `\`) || !strings.Contains(path, "/") {
		return false
	}
	for name := range strings.SplitSeq(path, "/") {
		if name[0] == '.' {
			return false
		}
	}
	return true
}

// of returns the last line of a URL.
func (m *manifest) of(url string) (l Line, ok bool, err error) {
	offset, ok, err := m.known.get(keyOf('m', url))
	if err != nil || !ok {
		return l, false, err
	}
	if m.w != nil && m.w.Buffered() > 0 {
		if err := m.w.Flush(); err != nil {
			return l, false, err
		}
	}
	return l, true, lineAt(m.file, offset, &l)
}

// add appends the line of a URL, whose file is whole. old is the line before it.
func (m *manifest) add(l *Line, old *Line) error {
	raw, err := marshal(l)
	if err != nil {
		return err
	}
	if _, err := m.w.Write(raw); err != nil {
		return err
	}
	if err := m.known.set(keyOf('m', l.URL), m.size); err != nil {
		return err
	}
	m.size += int64(len(raw))
	if old != nil {
		m.dead++
		return m.removeOld(old, l.File)
	}
	return nil
}

// removeOld removes the file of a line that another one, with another file, has replaced.
func (m *manifest) removeOld(old *Line, file string) error {
	if old.File == "" || old.File == file {
		return nil
	}
	if m.w != nil { // the new line comes first
		if err := m.w.Flush(); err != nil {
			return err
		}
	}
	// what cannot be removed, for example because a person put a link there, is no longer ours
	_ = m.folder.root.Remove(old.File)
	return nil
}

// tidy writes the manifest anew when a line in it was replaced: every URL has one line then.
func (m *manifest) tidy() error {
	if err := m.w.Flush(); err != nil || m.dead == 0 {
		return err
	}
	part, name, err := m.folder.part()
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(part, 64<<10)
	err = m.each(context.Background(), func(l *Line) error { // it is short, and all or nothing
		line, err := marshal(l)
		if err != nil {
			return err
		}
		_, err = w.Write(line)
		return err
	})
	if err = errors.Join(err, w.Flush(), part.Sync(), part.Close()); err == nil {
		err = m.folder.root.Rename(name, manifestName)
	}
	if err != nil {
		return errors.Join(err, m.folder.root.Remove(name))
	}
	return nil
}

// each calls fn with the last line of each URL, as the manifest was when it was called.
func (m *manifest) each(ctx context.Context, fn func(l *Line) error) error {
	return eachLine(io.NewSectionReader(m.file, 0, m.size), func(offset int64, raw []byte) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var l Line
		if json.Unmarshal(raw, &l) != nil || l.URL == "" {
			return nil
		}
		if last, ok, err := m.known.get(keyOf('m', l.URL)); err != nil || !ok || last != offset {
			return err
		}
		return fn(&l)
	})
}

// close writes what is in the buffer and closes the file.
func (m *manifest) close() error { return errors.Join(m.w.Flush(), m.file.Close()) }
