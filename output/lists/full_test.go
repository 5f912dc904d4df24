package lists

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// tightFile is a file on a disk with limited room, which all tight files share.
type tightFile struct {
	handle
	room *int
	why  error
}

// Write writes as much as there is room for, as a system does.
func (f *tightFile) Write(b []byte) (int, error) {
	if len(b) <= *f.room {
		*f.room -= len(b)
		return f.handle.Write(b)
	}
	n, err := f.handle.Write(b[:*f.room])
	*f.room = 0
	if err == nil {
		err = fmt.Errorf("write: %w", f.why)
	}
	return n, err
}

// Truncate needs room where a quota is the limit, as on a file system that writes nothing in place.
func (f *tightFile) Truncate(size int64) error {
	if *f.room == 0 && errors.Is(f.why, syscall.EDQUOT) {
		return fmt.Errorf("truncate: %w", f.why)
	}
	return f.handle.Truncate(size)
}

// TestDiskFull: a caller without room waits, again and again. Nothing is torn, missing or doubled,
// however little room comes at a time.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	for name, why := range map[string]error{"disk": syscall.ENOSPC, "quota": syscall.EDQUOT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testDiskFull(t, why)
		})
	}
}

func testDiskFull(t *testing.T, why error) {
	t.Helper()
	dir := t.TempDir()
	room, waits := 0, 0
	o := everything()
	o.Full = func(context.Context) error {
		waits++
		room += 700
		return nil
	}
	s := open(t, dir, o)
	tighten := func() { // each file as soon as there is one
		for _, x := range s.streams() {
			if f := x.file; f != nil {
				if _, is := f.tail.(*tightFile); !is {
					f.gz, f.tail = &tightFile{f.gz, &room, why}, &tightFile{f.tail, &room, why}
				}
			}
		}
	}
	const pages = 60
	for i := range pages {
		put(t, s, fmt.Sprintf("http://a.test/%d", i),
			fmt.Sprintf(`<p>%s<a href="http://b.test/%d">x</a>`, strings.Repeat("some text ", 40), i))
		tighten()
		switch err := s.Sync(); {
		case i%7 > 0 || err == nil:
		case !errors.Is(err, why):
			t.Fatal(err)
		}
	}
	if waits < 10 {
		t.Fatalf("there was room all the time (%d waits): the test tests nothing", waits)
	}
	room = 1 << 30
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	shut(t, s)
	if got := decoded(t, unpacked(t, dir, Pages)); len(got) != pages ||
		got[pages-1]["url"] != fmt.Sprintf("http://a.test/%d", pages-1) {
		t.Errorf("%d pages, want %d", len(got), pages)
	}
	if got := decoded(t, unpacked(t, dir, Links)); len(got) != pages {
		t.Errorf("%d links, want %d", len(got), pages)
	}
	if texts := strings.Count(unpacked(t, dir, Text), "WARC-Type: conversion"); texts != pages {
		t.Errorf("%d texts, want %d", texts, pages)
	}
}

// TestDiskStaysFull: the wait ends with its context, the files are unchanged, and the next start
// finds every acknowledged line.
func TestDiskStaysFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stop := errors.New("the node stops")
	o := everything()
	o.Full = func(context.Context) error { return stop }
	s := open(t, dir, o)
	put(t, s, "http://a.test/1", "one")
	room := 10
	for _, x := range s.streams() {
		if f := x.file; f != nil {
			f.gz, f.tail = &tightFile{f.gz, &room, syscall.ENOSPC}, &tightFile{f.tail, &room, syscall.ENOSPC}
		}
	}
	if err := page(t, s, "http://a.test/2", "two"); !errors.Is(err, stop) {
		t.Errorf("a page on a full disk: %v", err)
	}
	if err := s.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("closing on a full disk: %v", err)
	}
	shut(t, open(t, dir, everything()))
	if got := decoded(t, unpacked(t, dir, Pages)); len(got) != 1 ||
		got[0]["url"] != "http://a.test/1" {
		t.Errorf("pages %v, want the first", got)
	}
}
