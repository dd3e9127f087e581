package operations

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

// Fill sets the fields of a draft or a patch, a pointer to a struct, that flags of the same names
// were given for: --time-zone is the field with the JSON name time_zone. Others stay as they are.
// It reports whether it set any.
func Fill(flags *pflag.FlagSet, into any) (some bool, err error) {
	to := reflect.ValueOf(into).Elem()
	for _, field := range reflect.VisibleFields(to.Type()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		flag := flags.Lookup(strings.ReplaceAll(name, "_", "-"))
		if name == "" || flag == nil || !flag.Changed {
			continue
		}
		field, text := to.FieldByIndex(field.Index), flag.Value.String()
		var value any
		switch field.Type() {
		case reflect.TypeFor[string](), reflect.TypeFor[*string]():
			value = text
		case reflect.TypeFor[int64]():
			value, err = strconv.ParseInt(text, 0, 64)
		case reflect.TypeFor[bool]():
			value, err = strconv.ParseBool(text)
		case reflect.TypeFor[[]int]():
			value, err = cli.ParseAlertAt(text)
		default:
			continue
		}
		if err != nil {
			return some, err
		}
		if some = true; field.Kind() == reflect.Pointer {
			field.Set(reflect.ValueOf(&text))
		} else {
			field.Set(reflect.ValueOf(value))
		}
	}
	return some, nil
}
