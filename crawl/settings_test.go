package crawl

import "testing"

// TestAgent: who robots.txt has to name (RFC 9309, section 2.2.1: letters, "_" and "-"; the token
// is part of the user agent).
func TestAgent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ userAgent, robotsAgent, want string }{
		{"crawlnode/1.2 (+me@example.org)", "", "crawlnode"},
		{"FieldBot/1.0 (+https://field.example/bot)", "", "FieldBot"},
		{"Field-Bot_x/2", "", "Field-Bot_x"},
		{"FieldBot", "", "FieldBot"},
		{"  FieldBot/1.0", "", "FieldBot"},
		{"Field2Bot/1.0", "", "Field"},
		{"Mozilla/5.0 (compatible; FieldBot/1.0; +https://field.example/bot)", "", "FieldBot"},
		{"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; FieldBot/1.0)", "", "FieldBot"},
		{"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; FieldBot/1.0; " +
			"+https://field.example/bot) Chrome/116.0 Safari/537.36", "", "FieldBot"},
		{"Mozilla/5.0 (Linux; Android 6.0.1) AppleWebKit/537.36 (KHTML, " +
			"like Gecko) Chrome/99 Mobile Safari/537.36 (compatible; FieldBot/2.1; " +
			"+http://field.example)", "",
			"FieldBot"},
		{"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_10_1) AppleWebKit/600.2.5 (KHTML, " +
			"like Gecko) Version/8.0.2 Safari/600.2.5 (FieldBot/0.1; +https://field.example)", "",
			"FieldBot"},
		{"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, " +
			"like Gecko) Chrome/99 Safari/537.36 FieldBot/1.0 (+https://field.example)", "", "FieldBot"},
		{"mozilla/5.0 (Compatible;fieldbot)", "", "fieldbot"},
		{"Mozilla/5.0 (compatible ; ; FieldBot/1 http://field.example)", "", "FieldBot"},
		{"Mozilla/5.0 (FieldBot; me@field.example)", "", "FieldBot"},
		{"Mozilla/5.0 FieldBot (me@field.example)", "", "FieldBot"},
		{"Mozilla/5.0 (+https://field.example)", "", "Mozilla"},
		{"Mozilla/5.0 (https://field.example; compatible; FieldBot", "", "FieldBot"},
		{"Mozilla/5.0 (compatible)", "", "Mozilla"},
		{"Mozilla/", "", "Mozilla"},
		{"MozillaBot/5.0 (compatible; FieldBot)", "", "MozillaBot"},
		{"FieldBot/1.0 (compatible; Mozilla/5.0)", "", "FieldBot"},
		{"Mozilla/5.0 (X11; Linux) Gecko (compatible; FieldBot-News/1.0)", "", "FieldBot-News"},
		{"Mozilla/5.0 (X11; Linux)", "", "Mozilla"},
		{"007", "", DefaultAgent},
		{"", "", DefaultAgent},
		{"FieldBot/1.0", "OtherBot", "OtherBot"},
	} {
		s := Settings{UserAgent: tc.userAgent, RobotsAgent: tc.robotsAgent}
		if got := s.Agent(); got != tc.want {
			t.Errorf("%q, --robots-agent %q: %q, want %q", tc.userAgent, tc.robotsAgent, got, tc.want)
		}
	}
	for token, ok := range map[string]bool{
		"FieldBot":  true,
		"a-b_c":     true,
		"":          false,
		"Field Bot": false,
		"Bot/1":     false,
		"Bot2":      false,
		"*":         false,
		"bücher":    false,
	} {
		if IsProductToken(token) != ok {
			t.Errorf("%q: want %v", token, ok)
		}
	}
}
