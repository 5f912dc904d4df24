package gossip

import (
	"errors"
	"io"
	"net"
	"testing"
)

// A stream above its own bound is closed; when all together are above theirs, the
// largest one is.
func TestStreamBudget(t *testing.T) {
	t.Parallel()
	var b budget
	open := func() (in io.WriteCloser, out *stream) {
		here, there := net.Pipe()
		t.Cleanup(func() { _ = here.Close() })
		s := b.open(there).(*stream)
		t.Cleanup(func() { _ = s.Close() })
		return here, s
	}
	feed := func(in io.Writer, out *stream, bytes int) error {
		go func() { _, _ = in.Write(make([]byte, bytes)) }() // ends with the pipe
		_, err := io.ReadFull(out, make([]byte, bytes))
		return err
	}
	in, out := open()
	if err := feed(in, out, maxStreamBytes); err != nil {
		t.Fatal(err)
	}
	small, smallOut := open()
	second, secondOut := open()
	if err := feed(second, secondOut, maxStreamBytes-1); err != nil {
		t.Fatal(err)
	}
	if err := feed(small, smallOut, 1000); err != nil { // and so the first goes
		t.Errorf("the small stream: %v", err)
	}
	if _, err := out.Read(make([]byte, 1)); err == nil {
		t.Error("the largest stream continues")
	}
	if err := feed(second, secondOut, 100); !errors.Is(err, errTooMuch) {
		t.Errorf("a stream over its own bound: %v", err)
	}
	_ = smallOut.Close()
	_ = smallOut.Close()
	if b.taken != 0 || len(b.streams) != 0 {
		t.Errorf("%d bytes of %d streams are left", b.taken, len(b.streams))
	}
}
