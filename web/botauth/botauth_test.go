package botauth

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

// vectorKey is the key of the draft's test vectors, of RFC 9421, appendix B.1.4.
func vectorKey(t *testing.T) Key {
	t.Helper()
	seed, err := base64.RawURLEncoding.DecodeString("n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU")
	if err != nil {
		t.Fatal(err)
	}
	return NewKey([ed25519.SeedSize]byte(seed))
}

// TestVector signs the request of the draft's test vector (draft-ietf-webbotauth-httpsig-protocol,
// "EdDSA Using Curve edwards25519"), but for its label. TestVectorSignature has the rest.
func TestVector(t *testing.T) {
	t.Parallel()
	agent, err := ParseAgent("https://signature-agent.test")
	if err != nil {
		t.Fatal(err)
	}
	const text = "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA=="
	nonce, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	got := NewSigner(vectorKey(t), agent).signAt("sig2", "example.com", time.Unix(1735689600, 0),
		time.Unix(4889289600, 0), [NonceSize]byte(nonce))
	want := Signed{Agent: `sig2="https://signature-agent.test"`,
		Input: `sig2=("@authority" "signature-agent";key="sig2");created=1735689600;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"` +
			`;alg="ed25519";expires=4889289600;nonce="` + text + `";tag="web-bot-auth"`}
	if got.Agent != want.Agent || got.Input != want.Input {
		t.Errorf("got %s\nand %s, want %s\nand %s", got.Agent, got.Input, want.Agent, want.Input)
	}
}

// TestVectorSignature signs the same vector with its own label, and compares the signature. Ed25519
// has one signature of each message, so the bytes must be equal.
func TestVectorSignature(t *testing.T) {
	t.Parallel()
	const nonce = "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA=="
	component := `"signature-agent";key="agent2"`
	params := `("@authority" ` + component + `)` +
		parameters(vectorKey(t), time.Unix(1735689600, 0), time.Unix(4889289600, 0)) +
		`;nonce="` + nonce + `";tag="web-bot-auth"`
	base := "\"@authority\": example.com\n" + component + ": \"https://signature-agent.test\"\n"
	if got, want := vectorKey(t).sign(base, params),
		":RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==:"; got !=
		want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestSign requires the times, and that nothing but the nonce, the host and the time makes a
// difference.
func TestSign(t *testing.T) {
	t.Parallel()
	agent, err := ParseAgent("https://bot.example/keys.json")
	if err != nil {
		t.Fatal(err)
	}
	k, now := vectorKey(t), time.Unix(2_000_000_000, 0)
	got := NewSigner(k, agent).Sign("example.com:8080", now, [NonceSize]byte{1})
	for _, part := range []string{`;created=1999999760;`, `;expires=2000000660;`,
		`;tag="web-bot-auth"`} {
		if !strings.Contains(got.Input, part) {
			t.Errorf("%s has no %s", got.Input, part)
		}
	}
	member := `"https://bot.example/keys.json";type=jwks_uri`
	if got.Agent != "sig1="+member {
		t.Errorf("agent %s, want %s", got.Agent, "sig1="+member)
	}
	base := "\"@authority\": example.com:8080\n\"signature-agent\";key=\"sig1\": " + member +
		"\n\"@signature-params\": " + strings.TrimPrefix(got.Input, "sig1=")
	verify(t, k, base, strings.TrimPrefix(got.Signature, "sig1="))
}

// verify requires the signature of a base.
func verify(t *testing.T, k Key, base, signature string) {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(strings.Trim(signature, ":"))
	if err != nil || !ed25519.Verify(k.private.Public().(ed25519.PublicKey), []byte(base), raw) {
		t.Errorf("%s does not sign %s (%v)", signature, base, err)
	}
}

func TestParseAgent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, url, member, bad string }{
		{"https://bot.example", "https://bot.example" + WellKnown, `"https://bot.example"`, ""},
		{"https://BOT.example:443/", "https://bot.example" + WellKnown, `"https://bot.example"`, ""},
		{"https://bot.example:8443" + WellKnown, "https://bot.example:8443" + WellKnown, `"https://bot.example:8443"`, ""},
		{"https://bot.example/a?b=c", "https://bot.example/a?b=c", `"https://bot.example/a?b=c";type=jwks_uri`, ""},
		{text: "http://bot.example", bad: "https"},
		{text: "bot.example", bad: "https"},
		{text: "", bad: "https"},
		{text: "https://", bad: "host"},
		{text: "https://:443", bad: "host"},
		{text: "https://me:secret@bot.example", bad: "password"},
		{text: "https://bot.example/#a", bad: "fragment"},
		{text: "https://bot.example/\"x", bad: "byte"},
		{text: "https://bot.example/a\r\nb: c", bad: "byte"},
		{text: "https://bücher.example", bad: "byte"},
		{text: "https://bot.example/" + strings.Repeat("a", 500), bad: "512"},
		{text: "https://[::1", bad: "address"},
	} {
		a, err := ParseAgent(tc.text)
		if tc.bad != "" {
			if err == nil || !strings.Contains(err.Error(), tc.bad) {
				t.Errorf("%q: %v, want an error with %q", tc.text, err, tc.bad)
			}
			continue
		}
		if err != nil || a.URL() != tc.url || a.member() != tc.member {
			t.Errorf("%q: %q, %s, %v, want %q, %s", tc.text, a.URL(), a.member(), err, tc.url, tc.member)
		}
		if u, err := url.Parse(a.URL()); err != nil || a.Authority() != u.Host {
			t.Errorf("%q: the authority is %q", tc.text, a.Authority())
		}
	}
}

func TestParseKeys(t *testing.T) {
	t.Parallel()
	a, b, c := NewKey([32]byte{1}), NewKey([32]byte{2}), NewKey([32]byte{3})
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(other)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, der []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	}
	for _, tc := range []struct {
		name string
		text []byte
		want []string
		bad  string
	}{
		{"one", a.PEM(), []string{a.ID()}, ""},
		{"two", append(b.PEM(), a.PEM()...), []string{b.ID(), a.ID()}, ""},
		{"words around", slicesOf([]byte("# a\n"), a.PEM(), []byte("# b\n")), []string{a.ID()}, ""},
		{"three", slicesOf(a.PEM(), b.PEM(), c.PEM()), nil, "more than 2"},
		{"twice", append(a.PEM(), a.PEM()...), nil, "same"},
		{"nothing", nil, nil, "no private key"},
		{"another text", []byte("crawlnode-key-v1"), nil, "no private key"},
		{"another kind", block(pemType, der), nil, "Ed25519"},
		{"another label", block("EC PRIVATE KEY", der), nil, "EC PRIVATE KEY"},
		{"no DER", block(pemType, []byte("x")), nil, "PKCS #8"},
		{"a damaged second", append(a.PEM(), b.PEM()[:60]...), nil, "damaged"},
		{"a damaged first", append(b.PEM()[:60], a.PEM()...), nil, "damaged"},
		{"a first without its end", slicesOf(b.PEM()[:90], []byte("\n"), a.PEM()), nil, "damaged"},
	} {
		keys, err := ParseKeys(tc.text)
		if tc.bad != "" {
			if err == nil || !strings.Contains(err.Error(), tc.bad) {
				t.Errorf("%s: %v, want an error with %q", tc.name, err, tc.bad)
			}
			continue
		}
		var ids []string
		for _, k := range keys {
			ids = append(ids, k.ID())
		}
		if err != nil || fmt.Sprint(ids) != fmt.Sprint(tc.want) {
			t.Errorf("%s: %v, %v, want %v", tc.name, ids, err, tc.want)
		}
	}
}

func slicesOf(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func FuzzParseKeys(f *testing.F) {
	f.Add(NewKey([32]byte{1}).PEM())
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := ParseKeys(text)
		if err == nil && (len(keys) < 1 || len(keys) > MaxKeys) {
			t.Fatalf("%d keys", len(keys))
		}
		for _, k := range keys {
			again, err := ParseKeys(k.PEM())
			if err != nil || again[0].ID() != k.ID() {
				t.Fatalf("%v is read back as %v, %v", k, again, err)
			}
		}
	})
}

// TestKeyIsNotPrinted looks for the private key in what fmt prints.
func TestKeyIsNotPrinted(t *testing.T) {
	t.Parallel()
	k := vectorKey(t)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(verb, k); got != "bot key "+k.ID() {
			t.Errorf("%s prints %q", verb, got)
		}
	}
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	keys := []Key{vectorKey(t), NewKey([32]byte{7})}
	var set struct {
		Keys []map[string]string `json:"keys"`
	}
	if err := json.Unmarshal(Directory(keys), &set); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"kty": "OKP", "crv": "Ed25519", "use": "sig",
		"kid": "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",
		"x":   "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}
	if len(set.Keys) != 2 || fmt.Sprint(set.Keys[0]) != fmt.Sprint(want) ||
		set.Keys[1]["kid"] != keys[1].ID() {
		t.Errorf("got %v, want %v first of two", set.Keys, want)
	}
	now := time.Unix(2_000_000_000, 0)
	p := PublishFor(keys, "bot.example", now, [MaxKeys][NonceSize]byte{{1}, {2}})
	sum := sha256.Sum256(p.Body)
	digest := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	if !bytes.Equal(p.Body, Directory(keys)) || p.Digest != digest {
		t.Errorf("%s has the digest %s, want %s", p.Body, p.Digest, digest)
	}
	inputs, signatures := strings.Split(p.Input, ", "), strings.Split(p.Signature, ", ")
	for i, k := range keys {
		label := fmt.Sprintf("sig%d=", i+1)
		params, ok := strings.CutPrefix(inputs[i], label)
		if !ok || !strings.HasPrefix(params, `("@authority";req "content-digest");created=1999999760;`) ||
			!strings.Contains(params, k.ID()) || !strings.Contains(params, ";expires=2000604560;") ||
			!strings.HasSuffix(params, `;tag="http-message-signatures-directory"`) {
			t.Errorf("input %d: %s", i, inputs[i])
		}
		base := `"@authority";req: bot.example` + "\n" + `"content-digest": ` + digest + "\n" +
			`"@signature-params": ` + params
		verify(t, k, base, strings.TrimPrefix(signatures[i], label))
	}
	if u := Publish(keys); u.Digest != digest || u.Input != "" || u.Signature != "" {
		t.Errorf("unsigned: %+v", u)
	}
}

// TestDirectoryVector signs the draft's directory, whose body ends without a line end.
func TestDirectoryVector(t *testing.T) {
	t.Parallel()
	k := vectorKey(t)
	digest := contentDigest(bytes.TrimSpace(Directory([]Key{k})))
	if want := "sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:"; digest != want {
		t.Fatalf("digest %s, want %s", digest, want)
	}
	got := k.signDirectory("signature-agent.test", digest, directoryComponents+
		`;created=1735689600;expires=4889289600`+
		`;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"`+
		`;tag="http-message-signatures-directory"`)
	want := ":l6P8R67tm3kujAxbHWio7ll01qrEZ0dKD/WWlGhNYEm" +
		"TnFZM8Wt0VQ9zqGfvo7T/UMkBxsigzChM1Gpz7gOVBg==:"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func BenchmarkSign(b *testing.B) {
	s := NewSigner(NewKey([32]byte{1}), Agent{uri: "https://bot.example"})
	for b.Loop() {
		s.Sign("example.com", time.Unix(2_000_000_000, 0), [NonceSize]byte{1})
	}
}
