//race:none

package statuses_test

import (
	"slices"
	"strings"
	"testing"

	"crawlnode/web/statuses"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]int{
		"200": {200}, "200,301-303,404": {200, 301, 302, 303, 404}, " 200 , 204 - 205 ": {200, 204, 205},
		"100": {100}, "599": {599}, "200,200-201": {200, 201},
	} {
		s, err := statuses.Parse(text, statuses.Least, "a list")
		var got []int
		for n := -1; n < 700; n++ {
			if s.Has(n) {
				got = append(got, n)
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for text, why := range map[string]string{
		"":        `"" is not a status from 100 to 599: write a list`,
		"200,":    `"" is not a status`,
		"99":      `"99" is not a status`,
		"600":     `"600" is not a status`,
		"+20":     `"+20" is not a status`,
		"0200":    `"0200" is not a status`,
		"2xx":     `"2xx" is not a status`,
		"308-301": `"308-301" ends before it begins: write 301-308`,
		"1-2-3":   `"1" is not a status`,
	} {
		s, err := statuses.Parse(text, statuses.Least, "a list")
		if err == nil || !strings.Contains(err.Error(), why) || s != (statuses.Set{}) {
			t.Errorf("%q: %v, want %s", text, err, why)
		}
	}
	if _, err := statuses.Parse("399", 400, "a list"); err == nil {
		t.Error("a status below the least is taken")
	}
}
