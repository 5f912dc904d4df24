package access

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/security/clusterkey"
	"crawlnode/security/clusterkey/clusterkeytest"
)

// TestJudge judges what callers show.
func TestJudge(t *testing.T) {
	t.Parallel()
	now := time.Now()
	n, other := clusterkeytest.New(t), clusterkeytest.New(t)
	made := func(k clusterkey.Key, role string, life time.Duration) (string, string) {
		token, text, err := k.NewToken(role, life, now)
		if err != nil {
			t.Fatal(err)
		}
		return token.ID, text
	}
	readID, read := made(n, "read", time.Hour)
	goneID, gone := made(n, "admin", time.Hour)
	_, short := made(n, "operate", time.Second)
	_, newer := made(n, "superuser", time.Hour)
	_, foreign := made(other, "admin", time.Hour)
	judge := NewJudge(clusterkey.NewRing(n), func(id string) bool { return id == goneID })
	for _, c := range []struct {
		name, secret string
		want         crawl.Caller
		told         string // what the asker is told; "" nothing
	}{
		{"the key's own", n.APIToken(), crawl.Caller{ID: crawl.KeyCaller, Role: crawl.RoleAdmin}, ""},
		{"read", read, crawl.Caller{ID: readID, Role: crawl.RoleRead}, ""},
		{"revoked", gone, crawl.Caller{}, "was revoked"},
		{"expired", short, crawl.Caller{}, "has expired"},
		{"of a newer release", newer, crawl.Caller{}, "newer release"},
		{"another cluster's", foreign, crawl.Caller{}, ""},
		{"another key's own", other.APIToken(), crawl.Caller{}, ""},
		{"nothing", "", crawl.Caller{}, ""},
	} {
		got, err := judge.Asker(c.secret, now.Add(time.Minute))
		if got != c.want || (err == nil) != (c.want.Role > 0) {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
		if errors.Is(err, crawl.ErrForbidden) != (c.told != "") ||
			!strings.Contains(fmt.Sprint(err), c.told) {
			t.Errorf("%s is told: %v", c.name, err)
		}
	}
}
