package integration

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// sizeRecord tells how long a packed file was: the zeros at its end, of which a store sets
// many aside, are left out.
const sizeRecord = "CRAWLNODE.size"

// pack writes the regular files below a folder into an archive, save what the processes
// have printed, which stands in the folder itself.
func pack(dir, archive string) (err error) {
	file, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	zip, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err != nil {
		return err
	}
	out := tar.NewWriter(zip)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() ||
			filepath.Dir(path) == dir && filepath.Ext(path) == ".log" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		kept := bytes.TrimRight(text, "\x00")
		header := &tar.Header{
			Typeflag:   tar.TypeReg,
			Name:       filepath.ToSlash(name),
			Mode:       0o600,
			Size:       int64(len(kept)),
			Format:     tar.FormatPAX,
			PAXRecords: map[string]string{sizeRecord: strconv.Itoa(len(text))},
		}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		_, err = out.Write(kept)
		return err
	})
	return errors.Join(err, out.Close(), zip.Close())
}

// unpack writes the files of an archive into a folder.
func unpack(archive, dir string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	zip, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	for in := tar.NewReader(zip); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !filepath.IsLocal(header.Name) {
			return fmt.Errorf("%s: %q leads out of the folder", archive, header.Name)
		}
		size, err := strconv.ParseInt(header.PAXRecords[sizeRecord], 10, 64)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(header.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		text, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
		if err := os.Truncate(path, size); err != nil {
			return err
		}
	}
}

// What is packed comes out as it was, zeros at the end included.
func TestPack(t *testing.T) {
	t.Parallel()
	from, to, archive := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "x.tar.gz")
	files := map[string]string{
		"a":       "text",
		"b/c":     "x" + strings.Repeat("\x00", 1<<20),
		"b/d":     "",
		"b/e.log": "packed",
		"n.log":   "not packed",
	}
	for name, text := range files {
		path := filepath.Join(from, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(pack(from, archive), unpack(archive, to)); err != nil {
		t.Fatal(err)
	}
	delete(files, "n.log")
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(got) != want {
			t.Errorf("%s has %d bytes, want %d; %v", name, len(got), len(want), err)
		}
	}
	if _, err := os.Stat(filepath.Join(to, "n.log")); err == nil {
		t.Error("the log was packed")
	}
	if info, err := os.Stat(archive); err != nil || info.Size() > 10<<10 {
		t.Errorf("the archive takes %d bytes: the zeros were kept; %v", info.Size(), err)
	}
}
