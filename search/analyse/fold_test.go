package analyse

import "testing"

// Words are the same with and without what folding removes.
func TestFold(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"accents", "Crème Ångström", "creme angstrom"},
		{"Cyrillic letters of their own", "Йод Её", "йод ее"},
		{"Arabic, the end of an adverb", "اختصارا\u064b", "اختصارا"},
		{"Arabic with all vowels", "مُحَمَّد", "محمد"},
		{"Arabic, a longer line", "محـــمد", "محمد"},
		{"Hebrew with points", "שָׁלוֹם", "שלום"},
		{"Hebrew punctuation stays", "בן־אדם", "בן־אדם"},
		{"Hindi keeps its vowels", "हिन्दी", "हिन्दी"},
	} {
		if got := Fold(c.text); got != Fold(c.want) {
			t.Errorf("%s: %q is folded to %q, want %q", c.name, c.text, got, Fold(c.want))
		}
	}
	if got := Fold("اختصارا\u064b شـلام"); got != "اختصارا شلام" {
		t.Errorf("the points are still there: %q", got)
	}
	word := NewScanner("\u064b\u0640 كَتَبَ")
	if !word.Next() || string(word.Word()) != "كتب" {
		t.Errorf("the first word is %q", word.Word())
	}
	if word.Next() {
		t.Errorf("there is another word, %q", word.Word())
	}
}
