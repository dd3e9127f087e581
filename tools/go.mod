module github.com/sendlimit/sendlimiter/tools

go 1.26.0

require (
	codeberg.org/polyfloyd/go-errorlint v1.9.0
	github.com/Antonboom/testifylint v1.6.4
	github.com/charithe/durationcheck v0.0.11
	github.com/gostaticanalysis/forcetypeassert v0.2.0
	github.com/kisielk/errcheck v1.30.0
	github.com/ldez/usetesting v0.5.0
	github.com/nishanths/exhaustive v0.15.0
	github.com/tomarrell/wrapcheck/v2 v2.13.0
	go-simpler.org/sloglint v0.12.0
	golang.org/x/tools v0.52.0
	honnef.co/go/tools v0.8.2
	mvdan.cc/gofumpt v0.12.0
)

require (
	github.com/BurntSushi/toml v1.6.0 // indirect
	github.com/ettle/strcase v0.2.0 // indirect
	github.com/gobwas/glob v0.2.3 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
	golang.org/x/exp/typeparams v0.0.0-20260811152304-ee035b5b010f // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
)
