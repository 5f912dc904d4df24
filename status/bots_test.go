package status

import (
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// TestBotKeyMismatch tries clusters written as "id:keys@start", of which a capital letter is an
// address of its own, and says which members differ.
func TestBotKeyMismatch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ members, differ string }{
		{"a:", ""},
		{"a:x@1", ""},
		{"a: b: c:", ""},
		{"a:x@1 b:x@2 c:x@3", ""},
		{"a:x@3 b:x@2 c:y@1", "c"}, // the majority, not the eldest
		{"a:x@1 b:x@2 c:", "c"},    // no key
		{"a: b: c:x@1", "c"},       // a key among nodes without
		{"a: b:x@9", "a"},          // of two, the one that signs nothing
		{"a:x@2 b:y@1", "a"},       // of two, the younger
		{"b:x@1 a:y@1", "b"},       // at once: any, and the same everywhere
		{"a:x@1 b:yx@2 c:y@3", ""}, // a rotation, half-way
		{"a:x@1 b:x@2 c:y@3 d:y@4", "c d"},
		{"a:x@1 b:x@2 c:xA@1", "c"}, // the same key at another address
		{"a:xA@2 b:xB@1", "a"},
		{"a:xA@2 b:xyA@1", ""},
	} {
		var members []BotMember
		for text := range strings.FieldsSeq(tc.members) {
			id, rest, _ := strings.Cut(text, ":")
			keys, start, _ := strings.Cut(rest, "@")
			m := BotMember{ID: crawl.NodeID(id)}
			if keys != "" {
				m.Since = time.Unix(int64(start[0]), 0)
				m.Keys = strings.Split(strings.TrimRight(keys, "AB"), "")
				m.Agent = strings.TrimLeft(keys, "xy")
			}
			members = append(members, m)
		}
		for range 2 { // in any order
			var differ []string
			for _, m := range members {
				if _, is := BotKeyMismatch(m.ID, members); is {
					differ = append(differ, string(m.ID))
				}
			}
			slices.Sort(differ)
			if got := strings.Join(differ, " "); got != tc.differ {
				t.Errorf("%s: %q differ, want %q", tc.members, got, tc.differ)
			}
			slices.Reverse(members)
		}
	}
	if _, differs := BotKeyMismatch("z", []BotMember{{ID: "a", Keys: []string{"x"}}}); differs {
		t.Error("a node that is no member differs")
	}
}
