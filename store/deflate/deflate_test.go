package deflate

import (
	"bufio"
	"bytes"
	stdgzip "compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// inputs are contents of all kinds.
func inputs() map[string][]byte {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, MaxInput)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	in := map[string][]byte{
		"nothing":        nil,
		"one byte":       {7},
		"no match":       []byte("abcdefghijklmnopqrstuvwxyz"),
		"one literal":    []byte("aaaaaaaaaaaaaaaa"),
		"one byte often": bytes.Repeat([]byte{'x'}, MaxInput),
		"two bytes":      bytes.Repeat([]byte("xy"), MaxInput/2),
		"noise":          noise,
		// The second copy begins where a match is too far, or just not.
		"at the window":     slicesOf(noise[:200], noise[1000:1000+window-200], noise[:200]),
		"beyond the window": slicesOf(noise[:200], noise[1000:1000+window-199], noise[:200]),
		"match to the end":  slicesOf(noise[:500], noise[:500]),
		"long match":        slicesOf(noise[:5000], noise[:5000], noise[:3]),
		"page":              page(random, 20000),
		"largest page":      page(random, MaxInput),
	}
	// Frequencies by Fibonacci's numbers make the longest codes. Each byte differs from the one that a match would need.
	var fibonacci []byte
	for a, b, symbol := 1, 1, byte(0); len(fibonacci)+a < 60000; a, b, symbol = b, a+b, symbol+1 {
		fibonacci = append(fibonacci, bytes.Repeat([]byte{symbol}, a)...)
	}
	random.Shuffle(len(fibonacci), func(i, j int) { fibonacci[i], fibonacci[j] = fibonacci[j], fibonacci[i] })
	in["long codes"] = fibonacci
	return in
}

func slicesOf(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// page is a text whose words are as frequent as in a language.
func page(random *rand.Rand, size int) []byte {
	zipf := rand.NewZipf(random, 1.1, 3, 5000)
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		if i%12 == 0 {
			fmt.Fprintf(&b, "<p><a href=\"/page/%d\">", zipf.Uint64())
		}
		n := zipf.Uint64()
		fmt.Fprintf(&b, "%x%c ", n*2654435761%65536, 'a'+n%26)
	}
	return []byte(b.String()[:size])
}

// readers read members.
var readers = map[string]func(io.Reader) (io.Reader, error){
	"standard library": func(r io.Reader) (io.Reader, error) { return stdgzip.NewReader(r) },
	"the archive's":    func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
}

func check(t *testing.T, e *Encoder, content []byte) []byte {
	t.Helper()
	third := len(content) / 3
	read(t, content, AppendStored([]byte("before"), content[:third], nil, content[third:]))
	member := read(t, content, e.AppendMember([]byte("before"), content[:third], nil, content[third:]))
	if most := len(content) + 23; len(member) > most { // what a stored block takes
		t.Errorf("a member of %d bytes, at most %d are needed", len(member), most)
	}
	return member
}

// read reads the member and returns it.
func read(t *testing.T, content, member []byte) []byte {
	t.Helper()
	if !bytes.HasPrefix(member, []byte("before")) {
		t.Fatal("what was before the member is changed")
	}
	member = member[len("before"):]
	for name, open := range readers {
		in := bufio.NewReader(bytes.NewReader(member))
		z, err := open(in)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := io.ReadAll(z)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(got, content) {
			t.Fatalf("%s reads %d bytes that are not the %d of the contents", name, len(got), len(content))
		}
		if in.Buffered() > 0 {
			t.Fatalf("%s leaves %d bytes", name, in.Buffered())
		}
	}
	return member
}

// TestStored: contents of more than one block.
func TestStored(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("abc"), MaxInput)
	for _, size := range []int{MaxInput, MaxInput + 1, 2 * MaxInput, 3 * MaxInput} {
		read(t, content[:size], AppendStored([]byte("before"), content[:1000], content[1000:size]))
	}
}

// TestAppendMember: readers find the contents, with an encoder that is used again; the same contents make the same member.
func TestAppendMember(t *testing.T) {
	t.Parallel()
	var used Encoder
	for name, content := range inputs() {
		t.Run(name, func(t *testing.T) {
			var fresh Encoder
			if a, b := check(t, &used, content), check(t, &fresh, content); !bytes.Equal(a, b) {
				t.Error("an encoder that was used makes another member")
			}
		})
	}
}

// TestSize: pages are at most 5 % longer than what an encoder for streams makes of them at its fastest level.
func TestSize(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	var e Encoder
	for _, size := range []int{2000, 20000, 60000} {
		content := page(random, size)
		var other bytes.Buffer
		z, err := gzip.NewWriterLevel(&other, gzip.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		_, err = z.Write(content)
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := len(e.AppendMember(nil, content)); n*20 > other.Len()*21 {
			t.Errorf("%d bytes of %d, the other encoder makes %d", n, size, other.Len())
		}
	}
}

// TestTooLong: contents that positions cannot name are the caller's mistake.
func TestTooLong(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	new(Encoder).AppendMember(nil, make([]byte, MaxInput), []byte{1})
}

func FuzzAppendMember(f *testing.F) {
	for _, content := range inputs() {
		f.Add(content[:min(len(content), 3000)], uint8(1))
	}
	f.Fuzz(func(t *testing.T, content []byte, times uint8) {
		content = bytes.Repeat(content, 1+int(times))
		var e Encoder
		check(t, &e, content[:min(len(content), MaxInput)])
	})
}

// BenchmarkAppendMember takes another page each time: with one page the processor learns its branches, and needs half the time that
// it needs in a node.
func BenchmarkAppendMember(b *testing.B) {
	random := rand.New(rand.NewPCG(5, 6))
	pages := make([][]byte, 64)
	for i := range pages {
		pages[i] = page(random, 20000)
	}
	b.Run("own", func(b *testing.B) {
		var e Encoder
		var out []byte
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			out = e.AppendMember(out[:0], pages[i%len(pages)])
		}
	})
	b.Run("zeros", func(b *testing.B) { // a match is as long as it may be, again and again: what is left is not compared each time
		var e Encoder
		var out []byte
		zeros := make([]byte, MaxInput)
		for b.Loop() {
			out = e.AppendMember(out[:0], zeros)
		}
	})
	b.Run("stream", func(b *testing.B) {
		z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			z.Reset(io.Discard)
			_, _ = z.Write(pages[i%len(pages)])
			_ = z.Close()
		}
	})
}
