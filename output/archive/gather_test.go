package archive

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// openSize is the size of the open file on the disk.
func openSize(t *testing.T, dir string) int64 {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.warc.gz"+openSuffix))
	if err != nil || len(names) != 1 {
		t.Fatalf("open files: %v, %v", names, err)
	}
	info, err := os.Stat(names[0])
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestGather: records wait for Flush, Sync, Close or too much company, and stand where Put has
// said.
func TestGather(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir, Options{Gather: 8 << 10})
	var want []string
	add := func(body string) {
		url := fmt.Sprint("http://a.test/", len(want))
		ref := put(t, a, capture(t, url, body))
		want = append(want, fmt.Sprint(url, " ", ref.Offset))
	}
	if err := a.Flush(); err != nil { // there is no file yet
		t.Fatal(err)
	}
	add("x")
	begun := openSize(t, dir) // the warcinfo record does not wait
	add("y")
	if now := openSize(t, dir); now != begun {
		t.Errorf("a record that waits has made the file grow from %d to %d", begun, now)
	}
	if total := a.Stats().Bytes; total <= begun {
		t.Errorf("%d bytes, those that wait are not counted", total)
	}
	for _, write := range []func() error{a.Flush, a.Sync} {
		before := openSize(t, dir)
		add("z")
		if err := write(); err != nil {
			t.Fatal(err)
		}
		if now := openSize(t, dir); now <= before || now != a.file.size {
			t.Errorf("the file has %d bytes of %d, %d before", now, a.file.size, before)
		}
	}
	before := openSize(t, dir)
	for range 20 {
		add(rubbish(1000))
	}
	if now := openSize(t, dir); now <= before || now >= a.file.size {
		t.Errorf("%d bytes before and %d after 20 records, %d in all: some are to be written, some wait",
			before, now, a.file.size)
	}
	add(rubbish(20 << 10))
	if now := openSize(t, dir); now != a.file.size {
		t.Errorf("a record beyond what may wait is not written: %d of %d", now, a.file.size)
	}
	add("last")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := a.Flush(); err != nil {
		t.Errorf("Flush after Close: %v", err)
	}
	var got []string
	for _, r := range readAll(t, dir) {
		if r.Type == "response" {
			got = append(got, fmt.Sprint(r.TargetURI, " ", r.Offset))
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("records:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestGatherBroken: records whose write fails are not in the archive, those before them are; the
// error stays.
func TestGatherBroken(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs /dev/full, which only Linux has")
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	a := open(t, dir, Options{Gather: 8 << 10})
	put(t, a, capture(t, "http://a.test/1", "x"))
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	put(t, a, capture(t, "http://a.test/2", "x"))
	good := a.file.warc
	a.file.warc = full // cannot be cut either, so the error is final
	first := a.Flush()
	if first == nil || !strings.Contains(first.Error(), "no space left") {
		t.Errorf("Flush = %v, want no space left", first)
	}
	_, put := a.Put(t.Context(), capture(t, "http://a.test/3", "x"))
	if put == nil || a.Flush() == nil || a.Sync() == nil || a.Close() == nil {
		t.Errorf("the error does not stay: %v", put)
	}
	_ = good.Close()
	open(t, dir, Options{})
	if records := readAll(t, dir); len(records) != 3 || records[1].TargetURI != "http://a.test/1" {
		t.Errorf("records after a new start = %+v", records)
	}
}
