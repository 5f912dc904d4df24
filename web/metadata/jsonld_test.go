package metadata

import (
	"strings"
	"testing"
)

// TestDecodeScripts: what pages write in place of JSON.
func TestDecodeScripts(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, maxNesting) + "1" + strings.Repeat("}", maxNesting)
	for _, c := range []struct{ name, script, want string }{
		{"an object", `{"a": "b", "n": -1.5e-3, "t": true, "o": null}`, `[{"a":"b","n":-1.5e-3,"o":null,"t":true}]`},
		{"comments of HTML", "<!--\n{\"a\":1}\n-->", `[{"a":1}]`},
		{"CDATA", `<![CDATA[{"a":[[1]]}]]>`, `[{"a":[[1]]}]`},
		{"CDATA behind slashes", "//<![CDATA[\n{\"a\":1}\n//]]>", `[{"a":1}]`},
		{"CDATA in one line", `/*<![CDATA[*/ {"a":1} /*]]>*/`, `[{"a":1}]`},
		{"comments of JavaScript", "{ // who\n\"a\":1, /* \"b\":2 */ \"c\":3}", `[{"a":1,"c":3}]`},
		{"slashes in text", `{"u":"https://a.example/<b>;[,]"}`, `[{"u":"https://a.example/<b>;[,]"}]`},
		{"commas", `{"a":[1,2,],,"b":3,}`, `[{"a":[1,2],"b":3}]`},
		{"commas first", `[,{"a":1}]`, `[[{"a":1}]]`},
		{"control characters", "{\"a\":\"b\nc\td\x00e\"}", `[{"a":"b c d e"}]`},
		{"escapes that do not exist", `{"a":"it\'s \d \u12 \u00e4 \\ \""}`, `[{"a":"it's d u12 ä \\ \""}]`},
		{"a semicolon", `{"a":1};`, `[{"a":1}]`},
		{"several", "{\"a\":1}\n{\"b\":2},[3]", `[{"a":1},{"b":2},[3]]`},
		{"a good one before a broken one", `{"a":1} {"b":`, `[{"a":1}]`},
		{"no JSON", `window.x = function() {}`, `null`},
		{"an open string", `{"a":"b`, `null`},
		{"nothing", ``, `null`},
		{"as deep as may be", deep, "[" + deep + "]"},
		{"too deep", `{"a":` + deep + `}`, `null`},
		{"too many", "[" + strings.Repeat("1,", maxValues) + "1]", `null`},
		{"not UTF-8", "{\"a\":\"\xff\"}", "[{\"a\":\"\uFFFD\"}]"},
	} {
		if got := string(marshal(decodeScripts([][]byte{[]byte(c.script)}))); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestValuesOfAllScripts: the bound is that of the page.
func TestValuesOfAllScripts(t *testing.T) {
	t.Parallel()
	script := []byte("[" + strings.Repeat("1,", maxValues/2) + "1]")
	if got := len(decodeScripts([][]byte{script, script, []byte(`{"a":1}`)})); got != 2 {
		t.Errorf("%d values of three scripts, want the first and the last", got)
	}
}
