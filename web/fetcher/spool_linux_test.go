package fetcher

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// mapped counts the files in a directory that this process has mapped.
func mapped(t *testing.T, dir string) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(maps), dir)
}

// TestMediumBuffers checks that payloads of up to 1 MiB use the buffers there are, and files when
// those are taken.
func TestMediumBuffers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	body := []byte(repeat("0123456789", 60_000))
	srv := says(t, fmt.Sprintf("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		len(body), body))
	f := newFetcher(t, Options{LargeBodyMemory: 32 << 20, SpoolDir: dir})
	var held []*Response
	for files := range 3 { // two buffers
		resp := mustDo(t, f, ask(t, "http", srv.addr, "/"))
		held = append(held, resp)
		if want := max(files-1, 0); !bytes.Equal(resp.Body, body) || mapped(t, dir) != want {
			t.Errorf("payload %d: %d bytes, %d files, want %d", files+1, len(resp.Body), mapped(t, dir),
				want)
		}
	}
	for _, resp := range held {
		resp.Release()
	}
	if len(f.medium) != 2 || mapped(t, dir) != 0 {
		t.Errorf("after the release %d buffers and %d files, want 2 and 0", len(f.medium), mapped(t, dir))
	}
	coded := decoded(t, f, gzipped(t, body), "gzip")
	if !bytes.Equal(coded.Body, body) || mapped(t, dir) != 0 || len(f.medium) != 1 {
		t.Errorf("decoded: %d bytes, %d files, %d free buffers; want %d, none, 1", len(coded.Body),
			mapped(t, dir), len(f.medium), len(body))
	}
	coded.Release()
}

// TestExpectedSizes checks that a payload's claim about its size costs at most the memory of 1 MiB,
// and never its content.
func TestExpectedSizes(t *testing.T) {
	t.Parallel()
	want := []byte(repeat("0123456789", 1000))
	for _, claim := range []uint32{0, 1, 9_999, 10_001, 64<<10 - 1, 64 << 10, 256<<10 - 1, 256 << 10,
		1 << 20, 1<<32 - 1} {
		f := newFetcher(t, Options{})
		coded := gzipped(t, want)
		binary.LittleEndian.PutUint32(coded[len(coded)-4:], claim)
		resp := decoded(t, f, coded, "gzip")
		if !bytes.Equal(resp.Body, want) {
			t.Errorf("a payload that claims %d bytes: got %d, want %d", claim, len(resp.Body), len(want))
		}
		if cap(resp.Body) > firstSpool {
			t.Errorf("a payload that claims %d bytes got memory of %d", claim, cap(resp.Body))
		}
		resp.Release()
	}
}

// TestSpool checks that a large payload, received and decoded, is held in nameless files that
// disappear at its release.
func TestSpool(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFetcher(t, Options{MaxBody: 2 << 20, SpoolDir: dir})
	if s := newSpool(dir, 1<<20); s == nil || !s.grow(1<<20, spoolReserve) {
		t.Fatalf(
			"%s is on a file system without files that have no name, or nearly full: set TMPDIR to another",
			dir)
	} else {
		defer s.close()
	}
	if mapped(t, dir) != 1 {
		t.Fatal("the test cannot see a spool")
	}
	var text bytes.Buffer
	for i := range 200_000 {
		fmt.Fprintln(&text, i)
	}
	want := text.Bytes()
	srv := says(t, page(string(want)))
	resp := mustDo(t, f, ask(t, "http", srv.addr, "/"))
	if !bytes.Equal(resp.Body, want) || resp.Truncated != "" || mapped(t, dir) != 2 {
		t.Errorf("%d bytes, truncated %v, %d files", len(resp.Body), resp.Truncated, mapped(t, dir)-1)
	}
	resp.Release()

	coded := decoded(t, f, gzipped(t, want), "gzip")
	if !bytes.Equal(coded.Body, want) || coded.DecodeErr != nil || mapped(t, dir) != 2 {
		t.Errorf("decoded: %d bytes, %v, %d files", len(coded.Body), coded.DecodeErr, mapped(t, dir)-1)
	}
	coded.Release()
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 || mapped(t, dir) != 1 {
		t.Errorf("left behind: %v, %v, %d mapped", files, err, mapped(t, dir)-1)
	}

	// Payloads that are cut, small, or find no room.
	cut := mustDo(t, newFetcher(t, Options{MaxBody: 1 << 20, SpoolDir: dir}),
		ask(t, "http", srv.addr, "/"))
	if !bytes.Equal(cut.Body, want[:1<<20]) || cut.Truncated == "" {
		t.Errorf("cut: %d bytes, truncated %v", len(cut.Body), cut.Truncated)
	}
	cut.Release()
	r := ask(t, "http", srv.addr, "/")
	r.MaxBody = 500 << 10
	small := mustDo(t, f, r)
	if mapped(t, dir) != 1 {
		t.Error("a payload of 500 KiB at most was spooled")
	}
	small.Release()
	nowhere := mustDo(t, newFetcher(t, Options{SpoolDir: dir + "/missing"}),
		ask(t, "http", srv.addr, "/"))
	if !bytes.Equal(nowhere.Body, want) {
		t.Errorf("without a place for it: %d bytes", len(nowhere.Body))
	}
	nowhere.Release()
}

// TestDrippers has servers that send a good part of a large payload and then nothing. They make no
// other fetch wait, neither for memory nor for disk, and hold little of both.
func TestDrippers(t *testing.T) {
	t.Parallel()
	const drippers = 60
	var begun sync.WaitGroup
	begun.Add(drippers)
	drip := newRawServer(t, func(s *rawServer, c net.Conn, r *bufio.Reader) {
		if s.request(r) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n"+repeat("x", 700<<10))
			begun.Done()
			io.Copy(io.Discard, r) // to the end of the connection
		}
	})
	f := newFetcher(t,
		Options{SpoolDir: t.TempDir(), LargeBodyMemory: 1, SpoolBytes: drippers<<20 + 8<<20})
	ctx, cancel := context.WithCancel(t.Context())
	var dripping sync.WaitGroup
	for range drippers {
		dripping.Go(func() {
			if resp, err := f.Do(ctx, ask(t, "http", drip.addr, "/")); err == nil {
				t.Errorf("a payload that never ends has %d bytes", len(resp.Body))
				resp.Release()
			}
		})
	}
	begun.Wait()
	const size = 2 << 20
	srv := says(t, page(repeat("y", size)))
	within, stop := context.WithTimeout(ctx, 30*time.Second) // half of what a dripper may take
	defer stop()
	resp, err := f.Do(within, ask(t, "http", srv.addr, "/"))
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.Body) != size || !f.large.TryAcquire(1) {
		t.Errorf("%d bytes; memory was taken", len(resp.Body))
	}
	f.large.Release(1)
	resp.Release()
	cancel()
	dripping.Wait()
	if !f.spooled.TryAcquire(f.o.SpoolBytes) {
		t.Error("disk was not given back")
	}
}

// TestSpoolIsBounded checks that a payload for which the spools have no room, or no more room,
// continues in memory.
func TestSpoolIsBounded(t *testing.T) {
	t.Parallel()
	body := bytes.Repeat([]byte("0123456789abcdef"), 3<<20/16)
	srv := says(t, page(string(body)))
	for _, room := range []int64{1, 1 << 20, 3 << 20} {
		f := newFetcher(t, Options{SpoolDir: t.TempDir(), SpoolBytes: room, LargeBodyMemory: 64 << 20})
		resp := mustDo(t, f, ask(t, "http", srv.addr, "/"))
		if !bytes.Equal(resp.Body, body) || f.large.TryAcquire(64<<20) {
			t.Errorf("room for %d bytes: %d bytes; no memory was taken", room, len(resp.Body))
		}
		resp.Release()
		if !f.large.TryAcquire(64<<20) || !f.spooled.TryAcquire(room) {
			t.Error("disk or memory was not given back")
		}
	}
	s := newSpool(t.TempDir(), 1<<20)
	defer s.close()
	if s.grow(1<<20, 1<<60) || s.size != 0 {
		t.Error("a spool grew although the disk has no room")
	}
}
