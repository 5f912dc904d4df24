package urlnorm

import (
	"fmt"
	"testing"
)

// TestPackerKeepsEarlierURLs checks that URLs stay as they were made while a Packer goes on,
// whatever their length.
func TestPackerKeepsEarlierURLs(t *testing.T) {
	base, err := Parse("http://example.org/a/b?c")
	if err != nil {
		t.Fatal(err)
	}
	var k Packer
	var made, want []URL
	for i := range 300 {
		ref := fmt.Sprintf("../%0*d?x=%d", i*3, i, i)
		u, err := k.Resolve(base, ref)
		if err != nil {
			t.Fatal(ref, err)
		}
		alone, err := base.Resolve(ref)
		if err != nil {
			t.Fatal(ref, err)
		}
		made, want = append(made, u), append(want, alone)
	}
	for i := range made {
		if made[i] != want[i] {
			t.Errorf("URL %d is %q, want %q", i, made[i], want[i])
		}
	}
}

// TestPackerAllocations checks that the links of a page need few pieces of memory.
func TestPackerAllocations(t *testing.T) {
	base, err := Parse("http://example.org/a/b")
	if err != nil {
		t.Fatal(err)
	}
	n := testing.AllocsPerRun(100, func() {
		var k Packer
		for range 40 {
			if _, err := k.Resolve(base, "/a/page-of-some-name.html"); err != nil {
				t.Fatal(err)
			}
		}
	})
	if n > 2 {
		t.Errorf("40 links of a page made %v allocations, want at most 2", n)
	}
}
