package botauth

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

const (
	// NonceSize is how many random bytes a nonce has.
	NonceSize = 64
	// Backdate is how much earlier than now a signature claims to have been made. A verifier whose
	// clock is behind refuses what was made in its future.
	Backdate = 4 * time.Minute
	// Life is the time from created to expires. What is left of it after Backdate is for a request
	// that waits for its connection, and for a verifier whose clock is ahead. The draft allows a
	// day; a signature that was seen by somebody can be shown again to the same host until then.
	Life = 15 * time.Minute
	// DirectoryLife is that of the signatures of a directory. The draft asks for much more than the
	// time in which lists of keys are published anew: it says only that the keys belong to the host.
	DirectoryLife = 7 * 24 * time.Hour
)

// label names the signature in the three fields.
const label = "sig1"

// Signed are the values of the header fields of one request.
type Signed struct{ Agent, Input, Signature string }

// Signer signs requests. It does not change, so any number of goroutines may use it.
type Signer struct {
	key   Key
	agent Agent
}

// NewSigner makes a signer.
func NewSigner(key Key, agent Agent) *Signer { return &Signer{key, agent} }

// Sign signs a request to an authority: the host in lower case, with the port unless it is the
// scheme's own (RFC 9421, section 2.2.3). nonce must be random.
func (s *Signer) Sign(authority string, now time.Time, nonce [NonceSize]byte) Signed {
	return s.signAt(label, authority, now.Add(-Backdate), now.Add(Life-Backdate), nonce)
}

func (s *Signer) signAt(
	label, authority string,
	created, expires time.Time,
	nonce [NonceSize]byte,
) Signed {
	member, component := s.agent.member(), `"signature-agent";key="`+label+`"`
	params := `("@authority" ` + component + `)` + parameters(s.key, created, expires) +
		`;nonce="` + base64.StdEncoding.EncodeToString(nonce[:]) + `";tag="web-bot-auth"`
	base := `"@authority": ` + authority + "\n" + component + ": " + member + "\n"
	return Signed{Agent: label + "=" + member, Input: label + "=" + params,
		Signature: label + "=" + s.key.sign(base, params)}
}

// parameters are those that all signatures have (RFC 9421, section 2.3).
func parameters(k Key, created, expires time.Time) string {
	return ";created=" + strconv.FormatInt(created.Unix(), 10) + `;keyid="` + k.thumbprint +
		`";alg="ed25519";expires=` + strconv.FormatInt(expires.Unix(), 10)
}

// sign signs a signature base (RFC 9421, section 2.5), and returns a byte sequence (RFC 9651,
// section 3.3.5).
func (k Key) sign(base, params string) string {
	signature := ed25519.Sign(k.private, []byte(base+`"@signature-params": `+params))
	return ":" + base64.StdEncoding.EncodeToString(signature) + ":"
}

// Directory is the JWK Set of public keys.
func Directory(keys []Key) []byte {
	var b strings.Builder
	b.WriteString(`{"keys":[`)
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"kty":"OKP","crv":"Ed25519","kid":"` + k.thumbprint + `","x":"` + x(k.private) +
			`","use":"sig"}`)
	}
	b.WriteString("]}\n")
	return []byte(b.String())
}

// Published is an answer with the directory: its body, and the values of the header fields
// Content-Digest, Signature-Input and Signature. The last two are "" when nothing is signed.
type Published struct {
	Body                     []byte
	Digest, Input, Signature string
}

// Publish makes an answer with the directory, without a signature.
func Publish(keys []Key) Published {
	body := Directory(keys)
	return Published{Body: body, Digest: contentDigest(body)}
}

// PublishFor makes an answer with the directory, and signs it once with each key of it, for the
// authority that was asked: whoever copies the directory of another cannot make these.
func PublishFor(
	keys []Key,
	authority string,
	now time.Time,
	nonces [MaxKeys][NonceSize]byte,
) Published {
	p := Publish(keys)
	var inputs, signatures []string
	for i, k := range keys {
		nonce := base64.StdEncoding.EncodeToString(nonces[i][:])
		params := directoryComponents +
			parameters(k, now.Add(-Backdate), now.Add(DirectoryLife-Backdate)) +
			`;nonce="` + nonce + `";tag="http-message-signatures-directory"`
		label := "sig" + strconv.Itoa(i+1)
		inputs = append(inputs, label+"="+params)
		signatures = append(signatures, label+"="+k.signDirectory(authority, p.Digest, params))
	}
	p.Input, p.Signature = strings.Join(inputs, ", "), strings.Join(signatures, ", ")
	return p
}

// directoryComponents are what a signature of a directory covers: the host that was asked, and the
// body (draft-ietf-webbotauth-httpsig-protocol, "Possession Proof on the Directory Response").
const directoryComponents = `("@authority";req "content-digest")`

// signDirectory signs an answer to a request for the directory.
func (k Key) signDirectory(authority, digest, params string) string {
	return k.sign(`"@authority";req: `+authority+"\n"+`"content-digest": `+digest+"\n", params)
}

// contentDigest is the value of Content-Digest (RFC 9530, section 2).
func contentDigest(body []byte) string {
	sum := sha256.Sum256(body)
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}
