# The CNI plugin's call: operation and container in the environment, the configuration on stdin, the result on stdout.

# Apply the planned changes to the configuration. Two processes, and one for each change.
critests_before() {
    [ -n "$critests_changes" ] || return 0
    critests_input=$critests_edit_files/input.$$
    cat >"$critests_input"
    for critests_change in $critests_changes; do
        ! "$critests_change" "$critests_input" || critests_made=$((critests_made + 1))
    done
    exec <"$critests_input"
    rm -f "$critests_input"
}

critests_works_afterwards() {
    [ -n "$critests_edits$critests_rewrites" ]
}

# Apply the planned edits and changes to the result. A process for the plugin, two for each edit whose text is found, two
# for all changes, and one for each change.
critests_call() {
    [ -n "$critests_edits$critests_rewrites" ] || {
        "$critests_real" "$@"
        return
    }
    critests_result=$("$critests_real" "$@")
    critests_exit=$?
    for critests_edit in $critests_edits; do
        IFS='' read -r critests_old <"$critests_edit_files/$critests_edit.old"
        case $critests_result in
        *"$critests_old"*)
            critests_result=$(printf '%s\n' "$critests_result" | sed -f "$critests_edit_files/$critests_edit.sed")
            critests_made=$((critests_made + 1))
            ;;
        esac
    done
    if [ -n "$critests_rewrites" ] && [ "$critests_exit" -eq 0 ]; then
        critests_output=$critests_edit_files/output.$$
        printf '%s\n' "$critests_result" >"$critests_output"
        for critests_change in $critests_rewrites; do
            ! "$critests_change" "$critests_output" || critests_made=$((critests_made + 1))
        done
        critests_result=$(cat "$critests_output")
        rm -f "$critests_output"
    fi
    printf '%s\n' "$critests_result"
    return "$critests_exit"
}

critests_refuse() {
    printf '{"cniVersion":"1.0.0","code":%s,"msg":"%s"}\n' "$critests_code" "$critests_message"
}

critests_program=${0##*/}
critests_real=$critests_plugins/$critests_program
# A plugin finds the plugins that it calls (IPAM) in CNI_PATH. It must find the real ones there, so that only the calls of
# the runtime are recorded, and once.
CNI_PATH=$critests_plugins:${CNI_PATH-}
export CNI_PATH
[ -s "$critests_plan" ] || exec "$critests_real" "$@"
critests_operation=${CNI_COMMAND-} critests_id=${CNI_CONTAINERID-} critests_operand=''
critests_read_plan
critests_perform "$@"
