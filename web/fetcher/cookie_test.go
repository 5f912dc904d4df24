package fetcher

import (
	"bufio"
	"net"
	"strings"
	"testing"
)

// TestCookieIsRedacted: the server gets the request's cookie, an archive does not.
func TestCookieIsRedacted(t *testing.T) {
	t.Parallel()
	for _, cookie := range []string{"", "s=1", "s=1; t=2", "s=<redacted>", `s="a b"`,
		strings.Repeat("s=1; ", 500) + "t=2"} {
		got := make(chan string, 1)
		srv := newRawServer(t, func(s *rawServer, c net.Conn, r *bufio.Reader) {
			var sent string
			for {
				line, err := r.ReadString('\n')
				if err != nil || line == "\r\n" {
					break
				}
				if value, ok := strings.CutPrefix(line, "Cookie: "); ok {
					sent = strings.TrimSuffix(value, "\r\n")
				}
			}
			got <- sent
			_, _ = c.Write([]byte(page("x")))
		})
		r := ask(t, "http", srv.addr, "/")
		r.Cookie = cookie
		resp := mustDo(t, newFetcher(t, Options{}), r)
		if sent := <-got; sent != cookie {
			t.Errorf("the server got %q, want %q", sent, cookie)
		}
		head := string(resp.RequestHead)
		if strings.Contains(head, "s=1") ||
			strings.Contains(head, "\r\nCookie: <redacted>\r\n") != (cookie != "") {
			t.Errorf("archived with %q:\n%s", cookie, head)
		}
		resp.Release()
	}
}
