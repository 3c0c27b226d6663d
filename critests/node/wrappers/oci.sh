# The OCI runtime's command line: global options, operation, its options, the container's id.

critests_global_options() {
    while [ $# -gt 0 ]; do
        case $1 in
        --log) critests_log=${2-} ;;
        --log=*) critests_log=${1#*=} ;;
        --log-format) critests_log_format=${2-} ;;
        --log-format=*) critests_log_format=${1#*=} ;;
        esac
        case $1 in
        -h | --help | -v | --version) break ;;
        --*=* | --debug | --systemd-cgroup) ;;
        -*) [ $# -lt 2 ] || shift ;;
        *) break ;;
        esac
        shift
    done
    critests_operation=${1-}
    [ $# -eq 0 ] || shift
    critests_operands "$@"
}

critests_operands() {
    case $critests_operation in
    create | run) critests_edited=config.json ;;
    esac
    while [ $# -gt 0 ]; do
        case $1 in
        -b | --bundle) critests_edited=${2-}/config.json ;;
        --bundle=*) critests_edited=${1#*=}/config.json ;;
        -p | --process | -r | --resources) critests_edited=${2-} ;;
        --process=* | --resources=*) critests_edited=${1#*=} ;;
        esac
        case $critests_operation:$1 in
        *:--) shift && break ;;
        *:--*=* | *:--all | *:--detach | *:--force | *:--ignore-paused | *:--keep | *:--no-new-keyring) ;;
        *:--no-new-privs | *:--no-pivot | *:--no-subreaper | *:--quiet | *:--regex | *:--stats | *:--tty) ;;
        *:-a | *:-d | *:-q | *:-t | delete:-f) ;;
        *:-*) [ $# -lt 2 ] || shift ;;
        *) break ;;
        esac
        shift
    done
    critests_id=${1-} critests_operand=${2-}
}

# Copy standard input, such as the resources of an update, into a file while it is edited: a process to write the file,
# and one to remove it.
critests_keep_input() {
    [ "$critests_edited" = - ] && [ -n "$critests_edits$critests_changes" ] || return 0
    critests_edited=$critests_edit_files/input.$$ critests_input=yes
    cat >"$critests_edited"
}

# Edit the bundle's config.json, or the file of the process or resources. A process to search and one to write, per edit;
# a change is one program.
critests_before() {
    critests_keep_input
    for critests_edit in $critests_edits; do
        if grep -qF -f "$critests_edit_files/$critests_edit.old" "$critests_edited" &&
            sed -i -f "$critests_edit_files/$critests_edit.sed" "$critests_edited"; then
            critests_made=$((critests_made + 1))
        fi
    done
    for critests_change in $critests_changes; do
        [ -z "$critests_edited" ] || ! "$critests_change" "$critests_edited" || critests_made=$((critests_made + 1))
    done
    [ -z "$critests_input" ] || { exec <"$critests_edited" && rm -f "$critests_edited"; }
}

critests_works_afterwards() {
    [ -n "$critests_signal" ]
}

# Replace the signal of a kill, which is its last argument, if that is planned.
critests_call() {
    if [ -n "$critests_signal" ]; then
        critests_left=$#
        for critests_word in "$@"; do
            shift
            critests_left=$((critests_left - 1))
            [ $critests_left -gt 0 ] || critests_word=$critests_signal
            set -- "$@" "$critests_word"
        done
        critests_made=$((critests_made + 1))
    fi
    "$critests_real" "$@"
}

critests_refuse() {
    case ${critests_log:+$critests_log_format} in
    '') ;;
    json) printf '{"level":"error","msg":"%s"}\n' "$critests_message" >>"$critests_log" ;;
    *) printf 'level=error msg="%s"\n' "$critests_message" >>"$critests_log" ;;
    esac
    printf '%s\n' "$critests_message" >&2
}

[ -s "$critests_plan" ] || exec "$critests_real" "$@"
critests_log='' critests_log_format=text critests_edited='' critests_input=''
critests_global_options "$@"
critests_read_plan
critests_perform "$@"
