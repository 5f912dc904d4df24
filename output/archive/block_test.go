package archive

import (
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// zeros has n bytes of one value.
func zeros(n int64) io.Reader { return io.LimitReader(endless{}, n) }

type endless struct{}

func (endless) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// hugeRecord is a member with an answer of n bytes, whose digests may be wrong.
func hugeRecord(t *testing.T, n int64, head string, wrongBlock, wrongPayload bool) []byte {
	t.Helper()
	block, payload := sha1.New(), sha1.New()
	_, _ = io.WriteString(block, head)
	if _, err := io.Copy(io.MultiWriter(block, payload), zeros(n)); err != nil {
		t.Fatal(err)
	}
	if wrongBlock {
		block.Write([]byte("x"))
	}
	if wrongPayload {
		payload.Write([]byte("x"))
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(z, "WARC/1.1\r\nWARC-Type: response\r\n"+
		"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>\r\n"+
		"WARC-Date: 2026-03-01T12:00:00Z\r\nWARC-Target-URI: http://a.test/\r\n"+
		"WARC-Block-Digest: %s\r\nWARC-Payload-Digest: %s\r\n"+
		"Content-Type: application/http;msgtype=response\r\nContent-Length: %d\r\n\r\n%s", digest(
		[20]byte(block.Sum(nil))), digest([20]byte(payload.Sum(nil))), n+int64(len(head)), head)
	if _, err := io.Copy(z, zeros(n)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(z, "\r\n\r\n")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestScanDigests verifies records of many sizes without keeping them.
func TestScanDigests(t *testing.T) { //nolint:paralleltest // counts what is allocated
	const head = "HTTP/1.1 200 OK\r\nX: y\r\n\r\n"
	for _, n := range []int64{0, 1, digestKeep - int64(len(head)) - 1, digestKeep - int64(len(head)),
		digestKeep - int64(len(head)) + 1, digestKeep, 3 << 20, 100 << 20} {
		for _, wrong := range [][2]bool{{false, false}, {true, false}, {false, true}} {
			path := filepath.Join(t.TempDir(), "x.warc.gz")
			if err := os.WriteFile(path, hugeRecord(t, n, head, wrong[0], wrong[1]), 0o600); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			records := 0
			err := ScanDigests(path, func(r Record) error {
				records++
				if err := r.Verify(); (err != nil) != (wrong[0] || wrong[1]) {
					t.Errorf("%d bytes, wrong digests %v: %v", n, wrong, err)
				}
				if r.PayloadSize() != n || r.Status != 200 || string(r.Head) != head {
					t.Errorf("%d bytes: %d, status %d", n, r.PayloadSize(), r.Status)
				}
				return nil
			})
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; err != nil || records != 1 || used > 8<<20 {
				t.Errorf("%d bytes: %d records, %v; %d bytes were allocated", n, records, err, used)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "torn.warc.gz")
	whole := hugeRecord(t, 3<<20, head, false, false)
	if err := os.WriteFile(path, whole[:len(whole)-9], 0o600); err != nil {
		t.Fatal(err)
	}
	if damage := (*DamageError)(nil); !errors.As(ScanDigests(path, func(Record) error { return nil }),
		&damage) {
		t.Error("a torn record is whole")
	}
}
