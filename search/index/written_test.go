package index

import (
	"fmt"
	"strings"
	"testing"
)

// TestWordsAsTheyAreWritten: of pages with the same stems as near each other, the one that has the
// words of the question comes first; so does the one with the word that a misspelt one is taken
// for.
func TestWordsAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	x := open(t, t.TempDir())
	var b Batch
	forms := []string{"connect replicating servers", "connects replicated server",
		"connected replicates serving", "connection replication serves"}
	for i, form := range forms {
		b.Put = append(b.Put, doc(fmt.Sprintf("h%d.test/", i), fmt.Sprintf("Page number%d", i),
			strings.Repeat(fmt.Sprintf("filler%d ", i), 30)+form+" and so on"))
	}
	apply(t, x, b)
	for i, form := range forms {
		if got := urls(find(t, x, form)); !strings.HasPrefix(got, fmt.Sprintf("h%d.test/", i)) {
			t.Errorf("%q finds %s", form, got)
		}
	}
	if got := urls(find(t, x, "cxnnection replication number3")); !strings.HasPrefix(got, "h3.test/") {
		t.Errorf("a misspelt word finds %s", got)
	}
}
