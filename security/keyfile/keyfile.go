package keyfile

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/local/datadir"
	"crawlnode/security/clusterkey"
)

// Access is what a program needs to reach the API of a cluster with a key.
type Access struct {
	Token string
	TLS   *tls.Config
}

// maxTokenFile bounds what is read of a file with a token, which has some 150 bytes.
const maxTokenFile = 4 << 10

// LoadKey reads the file of --cluster-key-file; nil: none was named.
func LoadKey(file string) (*clusterkey.Key, error) {
	if file == "" {
		return nil, nil
	}
	k, err := clusterkey.Load(file)
	if err != nil {
		return nil, datadir.Usage(fmt.Errorf("--cluster-key-file: %w", err))
	}
	return &k, nil
}

// LoadToken reads a file with a token, as keygen --role prints it, for a program that
// calls the API and has no key.
func LoadToken(file string) (Access, error) {
	f, err := os.Open(file)
	if err != nil {
		return Access{}, datadir.Usage(fmt.Errorf("read the token: %w", err))
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxTokenFile))
	if err != nil {
		return Access{}, datadir.Usage(fmt.Errorf("read the token: %w", err))
	}
	token := strings.TrimSpace(string(text))
	tls, err := clusterkey.TokenTLS(token)
	if err != nil {
		return Access{}, datadir.Usage(fmt.Errorf("%s: %w", file, err))
	}
	return Access{Token: token, TLS: tls}, nil
}

// NewToken makes a token of a role with the key in a file. It keeps nothing.
func NewToken(
	keyFile string,
	role crawl.Role,
	life time.Duration,
) (token clusterkey.Token, text string, err error) {
	k, err := clusterkey.Load(keyFile)
	if err == nil {
		token, text, err = k.NewToken(role.String(), life, time.Now())
	}
	if err != nil {
		err = datadir.Usage(err)
	}
	return token, text, err
}

// LoadAccess reads a cluster key file for a program that calls the API. Without
// a file there is nothing to show, and the zero Access is right.
func LoadAccess(keyFile string) (Access, error) {
	if keyFile == "" {
		return Access{}, nil
	}
	k, err := clusterkey.Load(keyFile)
	if err != nil {
		return Access{}, datadir.Usage(err)
	}
	return Access{Token: k.APIToken(), TLS: k.ClientTLS()}, nil
}

// LoadKeyText reads a cluster key file whole, for the order that replaces the key.
func LoadKeyText(keyFile string) (string, error) {
	k, err := clusterkey.Load(keyFile)
	if err != nil {
		return "", datadir.Usage(err)
	}
	return k.Text(), nil
}

// NewKeyFile makes a cluster key and stores it in a new file that only its owner
// may read. It returns the key's fingerprint.
func NewKeyFile(path string) (fingerprint string, err error) {
	k, err := clusterkey.Generate()
	if err != nil {
		return "", err
	}
	switch err := k.Save(path); {
	case errors.Is(err, fs.ErrExist):
		return "", datadir.Usage(fmt.Errorf("%s is there already and stays as it is: "+
			"give another FILE, or say --keep if it is the key of this cluster", path))
	case errors.Is(err, fs.ErrNotExist):
		return "", datadir.Usage(fmt.Errorf("%w: make its folder first, or give another FILE", err))
	case err != nil:
		return "", datadir.Failed("store the key", err)
	}
	return k.Fingerprint(), nil
}
