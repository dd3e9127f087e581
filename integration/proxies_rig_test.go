package integration_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// proxied are two workers with the settings of the page, a store, and keys.
type proxied struct {
	programs

	environ     []string
	settings    string // the file
	certificate string // the file, with its key
	trusted     *x509.CertPool
	workers     [2]*workerProcess
	addresses   [2]string
	admin, key  string
}

const proxiesPage = "docs/reverse-proxies.md"

// startProxied starts the workers.
func startProxied(t *testing.T) *proxied {
	t.Helper()
	p := &proxied{programs: buildPrograms(t)}
	p.environ = []string{"REDIS_URL=" + redistest.Shared(t).URL(), "SENDLIMIT_PUSH_URL=log:"}
	p.settings = filepath.Join(t.TempDir(), "sendlimit.yaml")
	require.NoError(t, os.WriteFile(p.settings, []byte(fenced(t, proxiesPage, "The worker", "yaml")), 0o600))
	for i := range p.workers {
		p.addresses[i] = freeAddress(t)
		p.start(t, i)
	}
	p.admin, p.key = p.account(t, "ops", "admin"), p.account(t, "shop", "submit,read")
	p.certify(t)
	return p
}

func (p *proxied) start(t *testing.T, i int) {
	t.Helper()
	p.workers[i] = p.worker(t, p.environ, "--config", p.settings, "--listen", p.addresses[i])
	p.workers[i].delivers(t)
}

func (p *proxied) account(t *testing.T, name, scopes string) (key string) {
	t.Helper()
	made := p.workerCommand(t, p.environ, "account", "create", name, "--scopes", scopes)
	require.Zero(t, made.status, made.stderr)
	return strings.TrimSpace(made.stdout)
}

// certify writes a certificate of push.example.com, which clients of the test trust.
func (p *proxied) certify(t *testing.T) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	own := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{proxyHost}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	made, err := x509.CreateCertificate(rand.Reader, own, own, key.Public(), key)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made})
	p.trusted = x509.NewCertPool()
	require.True(t, p.trusted.AppendCertsFromPEM(text))
	p.certificate = filepath.Join(t.TempDir(), "push.pem")
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...)
	require.NoError(t, os.WriteFile(p.certificate, text, 0o600))
}

const proxyHost = "push.example.com"

// kinds of proxies, with what makes their settings of the page those of a test, and what starts
// them in a folder.
type proxyKind struct {
	heading, program string
	from             net.IP // the client's address in the test
	half             bool   // over HTTP/1.1 it does not answer before it has read the whole request
	settings         func(page, address string) string
	command          func(file, folder string) []string
}

func proxyKinds() map[string]proxyKind {
	return map[string]proxyKind{
		"nginx": {
			heading: "nginx", program: "nginx", from: net.IPv4(127, 0, 0, 2),
			settings: func(page, address string) string {
				return "daemon off; pid nginx.pid; worker_processes 1; events {}\nhttp {\naccess_log off; client_body_temp_path body; proxy_temp_path proxy;" +
					" fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;\n" + strings.Replace(page, "listen 443", "listen "+address, 1) + "}\n"
			},
			command: func(file, folder string) []string {
				return []string{"-p", folder, "-c", file, "-e", "stderr", "-g", "user " + userName() + ";"}
			},
		},
		"caddyfile": {
			heading: "Caddy", program: "caddy", from: net.IPv4(127, 0, 0, 3), half: true,
			settings: func(page, address string) string {
				host, port, _ := net.SplitHostPort(address)
				return "{\n\tadmin off\n\tauto_https disable_redirects\n\tdefault_bind " + host + "\n}\n" +
					strings.Replace(page, proxyHost+" {", "https://"+proxyHost+":"+port+" {", 1)
			},
			command: func(file, _ string) []string { return []string{"run", "--adapter", "caddyfile", "--config", file} },
		},
		"haproxy": {
			heading: "HAProxy", program: "haproxy", from: net.IPv4(127, 0, 0, 4),
			settings: func(page, address string) string { return strings.Replace(page, "bind :443", "bind "+address, 1) },
			command:  func(file, _ string) []string { return []string{"-db", "-f", file} },
		},
	}
}

// userName is the account of nginx's processes, which must read the test's files.
func userName() string {
	if os.Getuid() == 0 {
		return "root"
	}
	return os.Getenv("USER")
}

// proxy is a running proxy, and a client of it.
type proxy struct {
	*proxied

	address string
	from    net.IP // the client's address
	output  output.Buffer
}

// behind starts a proxy with the settings of the page before the workers.
func (p *proxied) behind(t *testing.T, name string, from net.IP) *proxy {
	t.Helper()
	kind := proxyKinds()[name]
	program := needProgram(t, kind.program)
	x := &proxy{proxied: p, address: freeAddress(t), from: from}
	page := kind.settings(fenced(t, proxiesPage, kind.heading, name), x.address)
	for former, here := range map[string]string{
		"127.0.0.1:8080": p.addresses[0], "127.0.0.1:8082": p.addresses[1], "/etc/ssl/push.pem": p.certificate,
	} {
		require.Contains(t, page, former)
		page = strings.ReplaceAll(page, former, here)
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "settings")
	require.NoError(t, os.WriteFile(file, []byte(page), 0o600))
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	command := exec.CommandContext(ctx, program, kind.command(file, folder)...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) } // a killed nginx leaves processes
	command.WaitDelay = 10 * time.Second
	command.Dir, command.Env = folder, []string{"HOME=" + folder, "PATH=" + os.Getenv("PATH")}
	command.Stdout, command.Stderr = &x.output, &x.output
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		stop()
		_ = command.Wait() // it was told to end
	})
	ready, err := http.NewRequestWithContext(t.Context(), http.MethodGet, x.url("readyz"), http.NoBody)
	require.NoError(t, err)
	asked := x.client(t, false)
	require.Eventually(t, func() bool {
		response, err := asked.Do(ready)
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
	}, 20*time.Second, 50*time.Millisecond, "%s does not start: %s", kind.program, &x.output)
	return x
}

func (x *proxy) host() string {
	_, port, _ := net.SplitHostPort(x.address)
	return proxyHost + ":" + port
}

func (x *proxy) url(path string) string { return "https://" + x.host() + "/push/" + path }

// client returns a client of the proxy with an address of its own.
func (x *proxy) client(t *testing.T, http2 bool) *http.Client {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: x.from}}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, x.address)
		},
		TLSClientConfig:   &tls.Config{RootCAs: x.trusted, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: http2,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport: transport, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// asks sends a request. Its address in X-Forwarded-For is false.
func (x *proxy) asks(t *testing.T, with *http.Client, method, path string, header map[string]string, body io.Reader) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, x.url(path), body)
	require.NoError(t, err)
	request.Header.Set("X-Forwarded-For", "203.0.113.9")
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := with.Do(request)
	require.NoError(t, err, "%s", &x.output)
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func text(t *testing.T, response *http.Response) string {
	t.Helper()
	all, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(all)
}
